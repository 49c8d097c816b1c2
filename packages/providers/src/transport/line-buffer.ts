/**
 * Makes whole lines of text that was cut anywhere. The parser would throw away the beginning of a line
 * that cannot become a field, and with it the errors that servers write beside their streams.
 */
export class LineBuffer {
  readonly #maxLength: number;
  /** The beginning of a line, joined only when its end comes: a line of megabytes comes in many reads. */
  readonly #held: string[] = [];
  #heldLength = 0;
  #endedInCr = false;
  #isTooLong = false;

  constructor(maxLineLength: number) {
    this.#maxLength = maxLineLength;
  }

  /** A line came that is longer than allowed: what was taken ends before it. */
  get isTooLong(): boolean {
    return this.#isTooLong;
  }

  /** The lines that are whole by now, each ended by LF, whatever ended it. */
  take(text: string): string {
    const lines = this.#unify(text);
    const end = this.#fits(lines) ? lines.lastIndexOf('\n') + 1 : this.#endOfFitting(lines);
    const whole = end === 0 ? '' : this.#join(lines.slice(0, end));
    this.#hold(lines.slice(end));
    return whole;
  }

  /** CRLF that is cut in two is still one line end; a CR is one as soon as it comes. */
  #unify(text: string): string {
    const isSplit = this.#endedInCr && text.startsWith('\n');
    if (text !== '') this.#endedInCr = text.endsWith('\r');
    const rest = isSplit ? text.slice(1) : text;
    return rest.includes('\r') ? rest.replace(/\r\n?/g, '\n') : rest;
  }

  /** So that short reads, which are nearly all, need not be looked at line by line. */
  #fits(lines: string): boolean {
    return this.#heldLength + lines.length <= this.#maxLength;
  }

  /** Where the last line ends that neither is nor follows one that is too long. */
  #endOfFitting(lines: string): number {
    let start = 0;
    let before = this.#heldLength;
    for (;;) {
      const next = lines.indexOf('\n', start);
      const end = next === -1 ? lines.length : next;
      this.#isTooLong ||= before + end - start > this.#maxLength;
      if (next === -1 || this.#isTooLong) return start;
      start = next + 1;
      before = 0;
    }
  }

  #join(last: string): string {
    if (this.#held.length === 0) return last;
    const whole = this.#held.join('') + last;
    this.#held.length = 0;
    this.#heldLength = 0;
    return whole;
  }

  #hold(rest: string): void {
    if (rest === '') return;
    this.#held.push(rest);
    this.#heldLength += rest.length;
  }
}
