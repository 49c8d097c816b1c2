const schemes: ReadonlySet<string> = new Set(['http:', 'https:', 'mailto:']);
const maxLength = 4096;

/** Where a link of untrusted text leads; undefined where nobody should be led. */
export function safeLink(href: string): string | undefined {
  if (href.length > maxLength) return undefined;
  try {
    const url = new URL(href);
    return schemes.has(url.protocol) ? url.href : undefined;
  } catch {
    // A relative one would lead into this page, which is not what whoever wrote it meant.
    return undefined;
  }
}
