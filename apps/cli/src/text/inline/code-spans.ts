export interface CodeSpan {
  readonly text: string;
  readonly end: number;
}

/**
 * Code between backticks. Where runs of each length are is found out once, so that a text full of
 * backticks that belong to nothing is not searched for each of them.
 */
export class CodeSpans {
  readonly #source: string;
  #runs: Map<number, number[]> | undefined;

  constructor(source: string) {
    this.#source = source;
  }

  /** The code after a run of so many backticks that ends here, if there is such a run again. */
  after(length: number, at: number): CodeSpan | undefined {
    this.#runs ??= runsByLength(this.#source);
    const places = this.#runs.get(length) ?? [];
    // They are asked for in order: what lies behind is not needed again.
    while (places.length > 0 && (places.at(-1) ?? 0) < at) places.pop();
    const close = places.at(-1);
    if (close === undefined) return undefined;
    return { text: codeOf(this.#source.slice(at, close)), end: close + length };
  }
}

/** The last place first. */
function runsByLength(source: string): Map<number, number[]> {
  const runs = new Map<number, number[]>();
  for (const { 0: run, index } of source.matchAll(/`+/g)) {
    const places = runs.get(run.length);
    if (places === undefined) runs.set(run.length, [index]);
    else places.push(index);
  }
  for (const places of runs.values()) places.reverse();
  return runs;
}

function codeOf(source: string): string {
  const text = source.replaceAll('\n', ' ');
  const isPadded = text.startsWith(' ') && text.endsWith(' ') && text.trim() !== '';
  return isPadded ? text.slice(1, -1) : text;
}
