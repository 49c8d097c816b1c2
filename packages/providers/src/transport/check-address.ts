import { fault } from '../errors/wire-fault.ts';

/** Throws for what can never be an address of a server. Nothing of it is told but how it starts. */
export function checkAddress(url: string): void {
  // In a browser an address may be relative to the page's.
  const { location } = globalThis as { readonly location?: { readonly href?: string } };
  const parsed = URL.parse(url, location?.href);
  if (parsed === null) {
    throw fault('invalid_request', 'the base URL is no URL (invalid URL); pass one as https://…');
  }
  const { protocol, username, password } = parsed;
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw fault('invalid_request', `the base URL starts with ${protocol}, not http:// or https://`);
  }
  if (username !== '' || password !== '') {
    throw fault('invalid_request', 'the base URL includes credentials; pass them as headers');
  }
}
