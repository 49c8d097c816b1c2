import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Beside this package's folders as it is published, or where a clone builds it. */
const places = ['../web/', '../../web/dist/'];

/** The built page that the server has for people; undefined where it was not built. */
export function pageFolder(): string | undefined {
  const built = places
    .map((place) => new URL(place, import.meta.url))
    .find((folder) => existsSync(new URL('index.html', folder)));
  return built && fileURLToPath(built);
}
