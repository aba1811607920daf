"""The SDK's own tests, of the release that is installed, with our class in place of SQLiteSession.

Their source comes from the SDK's source distribution, which the set-up of this environment puts
beside it; nothing of it stands here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

README = " ".join((Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8").split())
SOURCE = Path(sys.prefix) / "upstream" / f"openai_agents-{metadata.version('openai-agents')}"

FILES = [
    "tests/memory/test_session.py",
    "tests/memory/test_session_limit.py",
    "tests/memory/test_session_context_wrapper.py",
    "tests/memory/test_session_persistence_sanitize.py",
    "tests/memory/test_openai_responses_compaction_session.py",
    "tests/memory/test_compaction_model_visibility.py",
    "tests/extensions/memory/test_encrypt_session.py",
    "tests/test_agent_runner.py",
    "tests/test_agent_runner_streamed.py",
    "tests/test_max_turns.py",
    "tests/test_native_tool_failure_history.py",
    "tests/test_programmatic_tool_calling.py",
    "tests/test_run_impl_resume_paths.py",
    "tests/test_soft_cancel.py",
    "tests/test_tool_batch_failure_history.py",
    "tests/test_tool_failure_boundaries.py",
]

COMPACTION = "test_openai_responses_compaction_session.py::TestOpenAIResponsesCompactionSession"
# What cannot apply, by the reason: the names of tests, or the beginnings of them.
EXCLUDED = {
    "it opens the SQLite file, or replaces the connections to it": [
        "test_session.py::test_sqlite_session_failed_add_items_releases_write_lock",
        "test_session.py::test_sqlite_session_failed_clear_session_rolls_back",
        "test_session.py::test_sqlite_session_failed_pop_item_releases_write_lock",
        "test_session.py::test_sqlite_session_rollback_failure_evicts_connection",
        "test_session.py::test_sqlite_session_close_retries_quarantined_connection",
        "test_session.py::test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome",
        "test_encrypt_session.py::test_encrypted_pop_wrong_key_preserves_row_identity",
        f"{COMPACTION}::test_settled_pop_failure_invalidates_response_chain",
        f"{COMPACTION}::test_settled_clear_failure_invalidates_response_chain",
    ],
    "it looks at SQLite connections, locks or inserts through private members": [
        "test_session.py::test_sqlite_session_close_closes_worker_thread_connections",
        "test_session.py::test_sqlite_session_reaps_connections_from_exited_worker_threads",
        "test_session.py::test_sqlite_session_closes_retired_connections_before_the_next_allocation",
        "test_session.py::test_sqlite_session_keeps_connections_of_live_worker_threads",
        "test_session.py::test_sqlite_session_file_lock_is_shared_across_instances",
        "test_run_impl_resume_paths.py::test_handoff_resume_after_cancelled_compaction_commits",
    ],
    "it writes damaged rows by SQL; test_unreadable_nodes_are_passed_over does so by the store": [
        "test_session.py::test_sqlite_session_pop_item_skips_corrupt_most_recent",
        "test_session.py::test_sqlite_session_pop_item_returns_none_after_dropping_only_corrupt_rows",
        "test_session.py::test_sqlite_session_get_items_limit_skips_corrupt_newest_rows",
        "test_session.py::test_sqlite_session_get_items_session_settings_limit_skips_corrupt_rows",
    ],
    "it asks for their words; ours are of a closed store, held by test_closed": [
        "test_session.py::test_sqlite_session_closed_rejects_empty_add_items",
    ],
    "the wrapper promises it for SQLiteSession alone: a pop that its key may refuse": [
        "test_encrypt_session.py::test_encrypted_pop_wrong_key_preserves_recoverable_history",
        "test_encrypt_session.py::test_encrypted_pop_rechecks_authentication_after_expired_tail",
        "test_encrypt_session.py::test_encrypted_pop_authentication_is_atomic",
        "test_encrypt_session.py::test_encrypted_pop_cancellation_waits_for_authentication_rollback",
    ],
    "the wrapper replaces the end of a history through a private hook of their two stores": [
        "test_encrypt_session.py::test_encrypted_compaction_skips_unencrypted_stored_history",
        "test_compaction_model_visibility.py::test_backend_read_limit_cannot_hide_retained_history",
        "test_compaction_model_visibility.py::test_automatic_compaction_does_not_reload_unbounded",
        "test_compaction_model_visibility.py::test_expired_read_overhead_does_not_authorize_hidden",
        f"{COMPACTION}::test_automatic_compaction_rollback_budget[True]",
    ],
}
# Of other stores, whose packages are not installed.
OTHERS = [
    "test_encrypt_session.py::test_encrypted_pop_preserves_sqlalchemy_history",
    "test_encrypt_session.py::test_encrypted_session_scan_budget_does_not_turn_redis",
]


def named(outcomes, *wanted):
    return {name.rpartition("/")[2] for name, outcome in outcomes.items() if outcome in wanted}


def under(names, beginnings):
    return {name for name in names if name.startswith(tuple(beginnings))}


def test_their_tests_pass_with_our_session(tmp_path):
    assert SOURCE.is_dir(), f"{SOURCE} is missing: `make test-openai` fetches it"
    report = tmp_path / "report.json"
    environment = os.environ | {
        "PYTHONPATH": str(Path(__file__).parent),
        "UPSTREAM_REPORT": str(report),
    }
    options = ["--quiet", "-p", "upstream_swap", "-p", "no:cacheprovider", "--tb=line"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *FILES],
        cwd=SOURCE,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.exists(), done.stdout + done.stderr
    outcomes = json.loads(report.read_text(encoding="utf-8"))
    failed = named(outcomes, "failed")
    excluded = [name for names in EXCLUDED.values() for name in names]
    assert failed - under(failed, excluded) == set(), done.stdout
    # A reason that has become untrue is no reason: each still fails.
    assert [name for name in excluded if not under(failed, [name])] == []
    assert under(named(outcomes, "passed"), excluded) == set()
    skipped = named(outcomes, "skipped")
    assert skipped - under(skipped, OTHERS) == set()
    passed = named(outcomes, "passed")
    told = f"{len(passed)} pass, {len(failed)} cannot apply"
    assert told in README, f"the README says otherwise than: {told}"
