import type { IncomingHttpHeaders } from 'node:http';

const forms = {
  br: /(?:^|[\s,])br[ \t]*(?:;[ \t]*q=([\d.]+))?[ \t]*(?:,|$)/i,
  gzip: /(?:^|[\s,])gzip[ \t]*(?:;[ \t]*q=([\d.]+))?[ \t]*(?:,|$)/i,
};

/**
 * Returns true if the client accepts an encoding. `gzip;q=0` means that it does not.
 *
 * @example
 * acceptsEncoding({ 'accept-encoding': 'br, gzip;q=0' }, 'gzip'); // false
 */
export function acceptsEncoding(
  { 'accept-encoding': accepted = '' }: Pick<IncomingHttpHeaders, 'accept-encoding'>,
  encoding: keyof typeof forms,
): boolean {
  const found = forms[encoding].exec(String(accepted));
  return found !== null && Number(found[1] ?? 1) > 0;
}
