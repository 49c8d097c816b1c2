// ASCII alone: text in other scripts goes on after an address without a space.
const form = /(?:https?:\/\/(?:\[[\da-fA-F:.]+\])?|www\.)[!-;=?-Z\\^_a-z{|}~]*/iy;
const inWord = /[a-z\d]/i;
const trailing = /[?!.,:;*_~'"]$/;

export interface BareAddress {
  readonly text: string;
  readonly address: string;
}

/** An address as people write it in a sentence: what ends the sentence is no part of it. */
export function bareAddressAt(source: string, at: number): BareAddress | undefined {
  if (at > 0 && inWord.test(source.charAt(at - 1))) return undefined;
  form.lastIndex = at;
  const match = form.exec(source);
  if (match === null) return undefined;
  const text = withoutEnd(match[0]);
  if (!/[a-z\d\]]/i.test(text.replace(/^(?:https?:\/\/|www\.)/i, ''))) return undefined;
  return { text, address: /^www\./i.test(text) ? `http://${text}` : text };
}

function withoutEnd(text: string): string {
  let end = text.length;
  let surplus = count(text, ')') - count(text, '(');
  for (; end > 0; end--) {
    const last = text.charAt(end - 1);
    if (last === ')' && surplus > 0) surplus--;
    else if (!trailing.test(last)) break;
  }
  return text.slice(0, end);
}

function count(text: string, char: string): number {
  return text.split(char).length - 1;
}
