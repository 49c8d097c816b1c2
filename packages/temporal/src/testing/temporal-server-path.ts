import { homedir } from 'node:os';
import { join } from 'node:path';

const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');

/** Where `npm run test:setup` leaves the server that it builds. */
export const temporalServerPath: string = join(cache, 'millrace', 'temporal-1.5.1');
