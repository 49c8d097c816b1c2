import { homedir } from 'node:os';
import { join } from 'node:path';

const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');

/** Path of the server that `npm run test:setup` builds. */
export const temporalServerPath: string = join(cache, 'millrace', 'temporal-1.5.1');
