# Benchmarks. `make bench` measures all rows of bench/rows.c and rewrites this CPU's block in docs/performance.md;
# `make bench ROWS=maxsim` only those whose names begin so; `make bench-peers` the same work by other libraries.
BENCH = $(patsubst bench/%.c,$(BUILD)/bench/%.o,$(wildcard bench/*.c))
PEERS_PYTHON ?= python3
PEERS_VENV ?= $(BUILD)/peers

$(BUILD)/bench/run: $(BENCH) $(BUILD)/libeinc.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

# The page is written even when a row failed: it says which.
bench: $(BUILD)/bench/run
ifdef ROWS
	$< --rows $(ROWS) $(BENCH_FLAGS)
else
	status=0; $< $(BENCH_FLAGS) --json $(BUILD)/bench/figures.json || status=$$?; \
	python3 bench/page.py figures $(BUILD)/bench/figures.json docs/performance.md && exit $$status
endif

TEST_NEEDS += $(BUILD)/bench/run    # tests/check_bench.py

bench-peers: $(BUILD)/bench/run
	sh bench/peers.sh $(PEERS_PYTHON) $(PEERS_VENV)
	$(PEERS_VENV)/bin/python bench/peers.py --run $< $(if $(ROWS),--rows $(ROWS)) --json $(BUILD)/bench/peers.json
	python3 bench/page.py peers $(BUILD)/bench/peers.json docs/performance.md

.PHONY: bench bench-peers
