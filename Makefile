# Every target does its own set-up. `make test` is the one gate, and what CI runs.
# It takes Python 3.10+, a Rust toolchain and a C compiler; what is missing is named.

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# A checkout's own modules must never stand in for the installed wheel.
unexport PYTHONPATH

# The interpreter that the binding is built against.
export PYO3_PYTHON := $(shell tools/python -c 'import sys; print(sys.executable)' 2>/dev/null)

PIP := bin/python -m pip install --quiet
# Expanded by the shell, when the wheel is there.
WHEEL := target/wheels/mnem_agents-*.whl

# The parts of `make sweep`.
SWEEP_PARTS := audit chaos crash flips fuzz kill model properties

.PHONY: test test-core test-python test-adapters test-published test-mem0 test-langgraph test-openai test-mcp demo demo-svg bench sweep $(SWEEP_PARTS:%=sweep-%) reliability fuzz chaos-report fmt lint reference wheel need zsh clean

test: test-core test-python test-adapters

# The engine and the house around it.
test-core: lint zsh
	cargo test --workspace --locked
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
	tools/python tools/dependencies.py
	tools/python benchmarks/counts.py --check

# Formatting, lints and the tidy test.
lint: need
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo clippy --manifest-path fuzz/Cargo.toml --target-dir target --no-default-features --locked -- -D warnings
	tools/python -m unittest discover --start-directory tools --pattern "test_*.py"
	tools/python tools/tidy.py
	tools/python tools/format_pages.py --check
	tools/python tools/reliability.py --check

# The Python package, against the installed wheel and never the source tree.
test-python: wheel .venv/test/ready
	.venv/test/$(PIP) --force-reinstall --no-deps $(WHEEL)
	.venv/test/bin/ruff check
	.venv/test/bin/ruff format --check
	.venv/test/bin/basedpyright --pythonpath .venv/test/bin/python
	.venv/test/bin/python -m mypy.stubtest mnem._mnem
	.venv/test/bin/pytest --import-mode=importlib python/tests
	.venv/test/bin/python tools/demo_svg.py --check
	.venv/test/bin/python benchmarks/audit.py

# Each adapter in an environment of its own, with its framework.
test-adapters: test-published test-mem0 test-langgraph test-openai test-mcp

# Published packages that build on ours, unchanged, in an environment of their own.
test-published: wheel .venv/published/ready
	.venv/published/$(PIP) --force-reinstall --no-deps $(WHEEL)
	.venv/published/bin/pytest --import-mode=importlib tests/published

# What we read from: the real package over a store that is not there.
test-mem0: wheel .venv/mem0/ready
	.venv/mem0/$(PIP) --force-reinstall --no-deps $(WHEEL)
	.venv/mem0/bin/pytest --import-mode=importlib tests/mem0

# The kit is tested beside its first user.
LANGGRAPH := packages/mnem-conformance packages/mnem-langgraph
test-langgraph: wheel .venv/langgraph/ready
	.venv/langgraph/$(PIP) --force-reinstall --no-deps $(WHEEL)
	.venv/langgraph/$(PIP) --force-reinstall --no-deps --no-build-isolation $(LANGGRAPH:%=./%)
	.venv/langgraph/bin/basedpyright --pythonpath .venv/langgraph/bin/python $(LANGGRAPH:%=%/src)
	.venv/langgraph/bin/pytest --import-mode=importlib -p no:asyncio $(LANGGRAPH:%=%/tests)

# Sessions of the OpenAI Agents SDK, and the SDK's own tests over them.
OPENAI := packages/mnem-conformance packages/mnem-langgraph packages/mnem-openai-agents
test-openai: wheel .venv/openai/ready
	.venv/openai/$(PIP) --force-reinstall --no-deps $(WHEEL)
	.venv/openai/$(PIP) --force-reinstall --no-deps --no-build-isolation $(OPENAI:%=./%)
	.venv/openai/bin/basedpyright --pythonpath .venv/openai/bin/python --project packages/mnem-openai-agents
	.venv/openai/bin/pytest -p no:asyncio --import-mode=importlib packages/mnem-openai-agents/tests

# The MCP server, and the protocol's conformance suite, which it fetches.
test-mcp: wheel .venv/mcp/ready
	.venv/mcp/$(PIP) --force-reinstall --no-deps $(WHEEL) ./packages/mnem-mcp ./packages/mnem-conformance
	.venv/mcp/bin/basedpyright --project packages/mnem-mcp --pythonpath .venv/mcp/bin/python
	.venv/mcp/bin/pytest --import-mode=importlib packages/mnem-mcp/tests

# A wrong belief is found, traced and put right, in real commands.
demo: wheel .venv/demo/ready
	.venv/demo/$(PIP) --force-reinstall --no-deps $(WHEEL)
	.venv/demo/bin/mnem demo

# The picture of the README, drawn from what the demo prints.
demo-svg: wheel .venv/test/ready
	.venv/test/$(PIP) --force-reinstall --no-deps $(WHEEL)
	.venv/test/bin/python tools/demo_svg.py

# Counts and times of every operation beside those of others, and the page that shows them.
bench: wheel .venv/bench/ready
	.venv/bench/$(PIP) --force-reinstall --no-deps $(WHEEL)
	.venv/bench/bin/python benchmarks/counts.py
	MNEM_BENCH_RUNS=80 MNEM_BENCH_LENGTHS=16,64,256 .venv/bench/bin/python benchmarks/audit.py
	.venv/bench/bin/python benchmarks/core.py
	.venv/bench/bin/python benchmarks/threads.py
	.venv/bench/bin/python benchmarks/peers.py
	.venv/bench/bin/python benchmarks/page.py
	rm -rf target/bench/data

# Every long test, hours in all. Each part can be run alone (`make sweep-kill`) and leaves what it
# saw in target/sweep/; `make reliability` takes that over into docs/reliability.md.
SWEEP := MNEM_SWEEP_REPORT=$(CURDIR)/target/sweep
ENGINE_TESTS := cargo test --package mnem-store --release --locked --test it --

sweep: $(SWEEP_PARTS:%=sweep-%)

# The answers of a store about recorded runs.
sweep-audit: wheel .venv/test/ready
	.venv/test/$(PIP) --force-reinstall --no-deps $(WHEEL)
	$(SWEEP) MNEM_BENCH_RUNS=80 MNEM_BENCH_LENGTHS=16,64,256 .venv/test/bin/python benchmarks/audit.py

# Merges of random histories.
sweep-chaos: need
	$(SWEEP) MNEM_CHAOS_CASES=50000 MNEM_CHAOS_STORE_CASES=250 $(ENGINE_TESTS) merge_chaos::pure merge_chaos::stores

# A bit of every byte of a small store, and random ones of a larger one.
sweep-flips: need
	$(SWEEP) $(ENGINE_TESTS) --include-ignored a_flipped_bit_in_any_byte many_random_flips

# Processes that are killed.
sweep-kill: need
	$(SWEEP) MNEM_KILL_ROUNDS=100 $(ENGINE_TESTS) kill::

# Machines that stop, and calls that fail.
sweep-crash: need
	$(SWEEP) MNEM_CRASH_CASES=100 MNEM_FAULT_CASES=100000 $(ENGINE_TESTS) crash:: --skip crash::kill

# Inputs that nobody thought of.
sweep-fuzz: need
	$(SWEEP) MNEM_FUZZ_SECONDS=300 tools/python tools/fuzz.py

# Random histories of every verb beside plain dicts.
sweep-model: need
	$(SWEEP) PROPTEST_CASES=20000 $(ENGINE_TESTS) histories

# All other tests, with many more cases of each property.
sweep-properties: need
	PROPTEST_CASES=5120 tools/python tools/reliability.py --run properties \
		"the other tests of the Rust crates, each property at 20 times its cases" \
		cargo test --workspace --release --locked -- --skip histories --skip crash:: --skip kill:: --skip merge_chaos::

# Takes the results of the sweep over.
reliability: need
	tools/python tools/reliability.py --keep

# Inputs that nobody thought of, for a minute each (fuzz/README.md); it takes a C++ compiler.
fuzz: need
	tools/python tools/fuzz.py

# The page about merges of random histories, from a run at the counts of the sweep.
chaos-report: need
	MNEM_CHAOS_CASES=50000 MNEM_CHAOS_STORE_CASES=250 MNEM_CHAOS_REPORT=$(CURDIR)/docs/merge-chaos.md \
		cargo test --package mnem-store --release --locked --test it -- merge_chaos::report

fmt: need .venv/test/ready
	cargo fmt --all
	.venv/test/bin/ruff format
	.venv/test/bin/ruff check --fix
	tools/python tools/format_pages.py

# The pages of docs/reference/; a test says when they are old.
reference: need
	MNEM_WRITE_REFERENCE=1 cargo test --package mnem-git --locked --test it reference::

# The completions are loaded by the shells they are for; without zsh that test says that it skips.
zsh:
	@command -v zsh >/dev/null || { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] \
		&& apt-get update -qq && apt-get install -y -qq zsh >/dev/null; } \
		|| echo "zsh is missing: its completions are not loaded"

need:
	@tools/need python rust cc

# Cargo knows what is up to date; one wheel stands there afterwards.
wheel: .venv/tools/ready
	rm -f target/wheels/mnem_agents-*.whl
	.venv/tools/bin/maturin build --release --locked --out target/wheels --interpreter .venv/tools/bin/python

.venv/tools/ready: tools/requirements.txt | need
	tools/python -m venv --clear .venv/tools
	.venv/tools/$(PIP) -r $<
	touch $@

.venv/test/ready: python/requirements-test.txt | need
	tools/python -m venv --clear .venv/test
	.venv/test/$(PIP) -r $<
	touch $@

# The wheel comes first, so that it and no release of ours answers for mnem-agents.
.venv/published/ready: tests/published/requirements.txt | need wheel
	tools/python -m venv --clear .venv/published
	.venv/published/$(PIP) $(WHEEL) -r $<
	touch $@

.venv/mem0/ready: tests/mem0/requirements.txt | need
	tools/python -m venv --clear .venv/mem0
	.venv/mem0/$(PIP) -r $<
	touch $@

.venv/bench/ready: benchmarks/requirements.txt | need
	tools/python -m venv --clear .venv/bench
	.venv/bench/$(PIP) -r $<
	touch $@

# LangGraph's tests of its stores are in its source distributions; their package is the installed one.
.venv/langgraph/ready: packages/mnem-langgraph/requirements-test.txt | need wheel
	tools/python -m venv --clear .venv/langgraph
	.venv/langgraph/$(PIP) $(WHEEL) -r $<
	.venv/langgraph/bin/python -m pip download --quiet --no-deps --no-binary :all: \
		--dest .venv/langgraph/upstream $$(grep -o 'langgraph-checkpoint[a-z-]*==[0-9.]*' $<)
	cd .venv/langgraph/upstream && for sources in *.tar.gz; do tar -xzf $$sources; done && rm -rf */langgraph
	touch $@

# The SDK's own tests are in its source distribution.
.venv/openai/ready: packages/mnem-openai-agents/requirements-test.txt | need wheel
	tools/python -m venv --clear .venv/openai
	.venv/openai/$(PIP) $(WHEEL) -r $<
	.venv/openai/bin/pip download --quiet --no-deps --no-binary :all: --dest .venv/openai/upstream $$(grep '^openai-agents==' $<)
	tar --directory .venv/openai/upstream -xzf .venv/openai/upstream/*.tar.gz
	touch $@

.venv/mcp/ready: packages/mnem-mcp/requirements-test.txt | need wheel
	tools/python -m venv --clear .venv/mcp
	.venv/mcp/$(PIP) $(WHEEL) -r $<
	touch $@

.venv/demo/ready: | need
	tools/python -m venv --clear .venv/demo
	touch $@

clean:
	cargo clean
	rm -rf .venv
