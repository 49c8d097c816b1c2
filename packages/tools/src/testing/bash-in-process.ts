// A program that runs an endless command and exits without closing anything. Usage: `bash-in-process.ts
// <root>`.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { bashTool } from '../shell/bash-tool.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { until } from './processes.ts';
import { runTool } from './tool-context.ts';

const [root = '.'] = process.argv.slice(2);
const command =
  'trap "" TERM; set -m; echo $$ > pids; sleep 1000 & echo $! >> pids; touch ready; wait';
void runTool(bashTool({ workspace: createWorkspace({ root }) }), { command });
await until(() => existsSync(join(root, 'ready')));
process.exit(0);
