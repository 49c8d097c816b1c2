/** Tells, at the cost of the new characters only, whether the brackets of a JSON text are all closed. */
export class Nesting {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #hasOpened = false;

  feed(text: string): void {
    for (const char of text) {
      if (this.#isInString) this.#inString(char);
      else this.#outside(char);
    }
  }

  get isClosed(): boolean {
    return this.#hasOpened && this.#depth <= 0;
  }

  #inString(char: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (char === '\\') this.#isEscaped = true;
    else if (char === '"') this.#isInString = false;
  }

  #outside(char: string): void {
    if (char === '"') this.#isInString = true;
    else if (char === '{' || char === '[') {
      this.#depth++;
      this.#hasOpened = true;
    } else if (char === '}' || char === ']') this.#depth--;
  }
}
