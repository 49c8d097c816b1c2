/** A piece of a URL as it was meant; as it is, where it was not encoded well. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
