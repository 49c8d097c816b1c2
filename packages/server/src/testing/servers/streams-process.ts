// This program serves streams with a log in a file, and reports its address. Usage: streams-process.ts
// <folder>. The test kills the process while clients append.
import { join } from 'node:path';
import { sqliteLog } from '@millrace/log/sqlite';
import { sendToParent } from '../../../../log/src/testing/start-process.ts';
import { createServer } from '../../create-server.ts';

const [folder = ''] = process.argv.slice(2);
const log = sqliteLog({ path: join(folder, 'log.db') });
const server = createServer({ log, tokens: 'none' });
sendToParent(await server.listen({ port: 0 }));

// The program ends with its parent, which also closes the standard input of this process.
process.stdin.resume();
process.stdin.on('end', () => {
  void server
    .close()
    .then(() => log.close())
    .then(() => process.exit(0));
});
