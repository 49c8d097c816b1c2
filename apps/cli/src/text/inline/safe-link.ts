const schemes = ['http:', 'https:', 'mailto:'];
const maxLength = 2048;

/** The address as a terminal may get it, or nothing: it is ASCII, and leads to the web or to mail. */
export function safeLink(address: string): string | undefined {
  if (address.length > maxLength || !URL.canParse(address)) return undefined;
  const { href, protocol } = new URL(address);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: an address must not end its own sequence
  const isClean = !/[\u0000-\u0020\u007f-\uffff]/.test(href);
  return schemes.includes(protocol) && isClean ? href : undefined;
}

/** Whether a reader who sees the text knows the address. */
export function showsAddress(text: string, address: string): boolean {
  const bare = (url: string) =>
    url
      .trim()
      .replace(/^(?:mailto:|https?:\/\/)/i, '')
      .replace(/\/$/, '');
  return bare(text) === bare(address);
}

/** Text that seems to be an address, so that it must not lead anywhere else. */
export function seemsAddress(text: string): boolean {
  return /^\s*(?:[a-z][a-z\d+.-]*:|www\.|[\w-]+(?:\.[\w-]+)+(?:[/:?#]|\s*$))/i.test(text);
}
