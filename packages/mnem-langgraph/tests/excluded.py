"""Cases of LangGraph's own tests that cannot apply, each with its reason."""

NO_SQL = "it looks into SQLite's tables, and there is no SQL here"
ANY_KEY = "it wants a filter's key refused that SQL could not hold; here any key may be asked for"
BOTH_WAYS = "it wants synchronous calls refused on the loop; here one object serves both"
RESERVED = "it puts under the reserved root label by batch, which is refused on every path here"

# By suite: test, without the parameters that it runs with.
EXCLUDED = {
    "langgraph_checkpoint": {
        "tests/test_store.py::test_cannot_put_empty_namespace": RESERVED,
    },
    "langgraph_checkpoint_sqlite": {
        "tests/test_store.py::test_vector_store_initialization": NO_SQL,
        "tests/test_store.py::test_nonnull_migrations": NO_SQL,
        "tests/test_store.py::test_sql_injection_vulnerability": ANY_KEY,
        "tests/test_async_store.py::test_no_running_loop": BOTH_WAYS,
    },
}
