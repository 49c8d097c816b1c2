/**
 * Returns true if brackets of a text are nested deeper than a limit. Closing brackets are not compared with
 * their opening ones, and brackets in strings count too. So the result can be true for odd texts, which are
 * then shown without colors or as their source.
 */
export function isDeeper(text: string, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '(':
      case '[':
      case '{':
        depth++;
        if (depth > limit) return true;
        break;
      case ')':
      case ']':
      case '}':
        depth = Math.max(0, depth - 1);
        break;
      default:
    }
  }
  return false;
}
