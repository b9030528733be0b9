// The values of one benchmark's items by the chosen metric: which are right, which changed, which are asked for.

class Values {
  constructor(index) {
    this.index = index;
    this.benchmarks = Object.keys(index.benchmarks);
    this.choose(this.benchmarks[0]);
  }

  /** Choose a benchmark, and the first of its metrics. */
  choose(benchmark) {
    this.benchmark = benchmark;
    this.items = this.index.items.filter(({ groups }) => groups.benchmark === benchmark);
    this.metrics = this.index.benchmarks[benchmark];
    this.use(this.metrics[0]);
  }

  /** Choose a metric. Where some value lies between its ends, answers are below full marks rather than wrong. */
  use(at) {
    this.at = at;
    const known = [null, this.metric.best, this.metric.worst];
    this.graded = this.items.some((item) => this.index.runs.some((_, run) => !known.includes(this.of(item, run))));
  }

  get metric() {
    return this.index.metrics[this.at] ?? { sign: 0 };
  }

  /** Return an item's value. */
  of(item, run = 0) {
    return item.values[run]?.[this.at] ?? null;
  }

  /** Say whether an item is right: true, false, or null where it has no value. */
  right(item, run = 0) {
    const value = this.of(item, run);
    return value === null ? null : this.metric.sign === 0 || value === this.metric.best;
  }

  /** Return the words for a kind of answers, which are of the chosen metric. */
  word(kind) {
    const graded = { wrong: "below_full", right: "full" }[kind];
    return WORDS[(this.graded && graded) || kind] ?? "";
  }

  /** Name what a value is: the best, the worst, none, or "" between the ends. */
  kind(item, run) {
    const value = this.of(item, run);
    const { sign, best, worst } = this.metric;
    return value === null ? "none" : !sign ? "" : value === best ? "right" : value === worst ? "wrong" : "";
  }

  /** Say whether a run's answer to an item has no value of a metric. */
  lacks(item, run, metric = this.at) {
    return item.answers[run] !== null && item.values[run][metric] === null;
  }

  /** Count the items of some that have an answer without a value of a metric. */
  lacking(items, metric) {
    return items.filter((item) => this.index.runs.some((_, run) => this.lacks(item, run, metric))).length;
  }

  /** Return how much better the second run is than the first; 0 where the metric does not tell. */
  change(item) {
    const [before, after] = [this.of(item, 0), this.of(item, 1)];
    return before === null || after === null || this.metric.unfit ? 0 : (after - before) * (this.metric.sign || 1);
  }

  /** Say whether runs have different values of an item; one that did not score it says nothing. */
  disagree(item) {
    return new Set(this.index.runs.map((_, run) => this.of(item, run)).filter((value) => value !== null)).size > 1;
  }

  /** Count the items of which runs have other values. */
  disputed() {
    return this.items.filter((item) => this.disagree(item)).length;
  }

  /** Return the test that items of a kind pass. */
  passing(kind) {
    const { runs } = this.index;
    const tests = {
      wrong: (item) => runs.some((_, run) => this.right(item, run) === false),
      right: (item) => runs.every((_, run) => this.right(item, run) === true),
      unscored: (item) => runs.some((_, run) => this.lacks(item, run)),
      failed: (item) => item.failed.some(Boolean),
      disagree: (item) => this.disagree(item),
      won: (item) => this.change(item) > 0,
      lost: (item) => this.change(item) < 0,
    };
    return tests[kind] ?? (() => true);
  }

  /** Count the wrong answers of the first run; 0 where answers are more or less right. */
  wrong() {
    const whole = this.items.every((item) => Number.isInteger(this.of(item) ?? 0));
    return whole && this.metric.sign ? this.items.filter((item) => this.right(item) === false).length : 0;
  }

  /** Return what items are sorted by, from small to large; undefined: their own order. */
  key(order) {
    const sign = this.metric.sign || 1;
    const worst = (item) => Math.min(...this.index.runs.map((_, run) => (this.of(item, run) ?? Infinity) * sign));
    return { worst, change: (item) => -Math.abs(this.change(item)) }[order];
  }
}
