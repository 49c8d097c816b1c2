/** More than anybody reads of an error. */
const longest = 600;

/** What went wrong, in words. What a server says may be a page of HTML: of that the text, in one line. */
export function errorWords(message: string): string {
  const isPage = /<(?:!doctype|html|head|body|title|h1|p|div)\b[^>]*>/i.test(message);
  const words = isPage
    ? message
        .replaceAll(/<(script|style)\b[^>]*>[\s\S]*?<\/\1>/gi, ' ')
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim()
    : message;
  return words.length > longest ? `${words.slice(0, longest)}…` : words;
}
