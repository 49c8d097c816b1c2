/**
 * Encodes the plain text input of a custom tool as the JSON `{"input":"…"}` while it streams. All pieces
 * together are valid JSON.
 */
export class PlainInputEncoder {
  /**
   * A high surrogate whose low surrogate has not arrived yet. It must not be escaped without the low
   * surrogate.
   */
  #held = '';

  /** The start of the JSON object, up to the text of its only field. */
  static readonly start = '{"input":"';

  append(chunk: string): string {
    const text = this.#held + chunk;
    const cut = endsInHighSurrogate(text) ? text.length - 1 : text.length;
    this.#held = text.slice(cut);
    return jsonEscaped(text.slice(0, cut));
  }

  /** Returns the end of the JSON object, which follows the text. */
  end(): string {
    return `${jsonEscaped(this.#held)}"}`;
  }
}

/** Encodes a whole text as the JSON `{"input":"…"}`. */
export function plainInput(text: string): string {
  return `${PlainInputEncoder.start}${jsonEscaped(text)}"}`;
}

function jsonEscaped(text: string): string {
  return JSON.stringify(text.toWellFormed()).slice(1, -1);
}

function endsInHighSurrogate(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}
