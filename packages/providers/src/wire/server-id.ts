/**
 * The id of a server that is not known, by where it is: what one keeps in a part is not for another
 * that happens to have a model of the same name.
 */
export function serverId(id: string, address: string | URL | undefined): string {
  const given = String(address ?? '').trim();
  return URL.canParse(given) ? `${id}@${new URL(given).host}` : id;
}
