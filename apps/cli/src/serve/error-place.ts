import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Returns the location of an error in the user's code, as `file:line`. `path` is the path of the
 * loaded module. Returns undefined if the location is unknown.
 */
export function placeOfError(error: unknown, path: string): string | undefined {
  const { stack = '', name = '' } = error instanceof Error ? error : {};
  const head = placeInHead(stack);
  if (head !== undefined) return head;
  // For a syntax error in a module, Node prints the location only if the error is not caught. So
  // Node must check the file again.
  return name === 'SyntaxError' ? placeOfSyntaxError(path) : placeInFrames(stack);
}

/**
 * Reads the location that Node prints above the error: `/app/agents.ts:2`, then the source line and
 * a mark.
 */
function placeInHead(stack: string): string | undefined {
  const [, file, line] = /^(\/[^\n]*|[A-Z]:\\[^\n]*|file:[^\n]*):(\d+)\n/.exec(stack) ?? [];
  return file === undefined ? undefined : `${asPath(file)}:${line}`;
}

/** Returns the first location that is not in Node or in an installed package. */
function placeInFrames(stack: string): string | undefined {
  for (const frame of stack.split('\n')) {
    const [, file, line] =
      /^\s+at .*?(file:\/\/[^\s)]+|\/[^\s)]+|[A-Z]:\\[^\s)]+):(\d+):\d+\)?$/.exec(frame) ?? [];
    const isUsers = file !== undefined && !/[\\/]node_modules[\\/]/.test(file);
    if (isUsers) return `${asPath(file)}:${line}`;
  }
  return undefined;
}

/** Maximum time for Node to check a file, in milliseconds. */
const checkTimeoutMs = 10_000;

/** Runs Node to check the syntax of a module. The module is not executed. */
function placeOfSyntaxError(path: string): string | undefined {
  const input = /\.[cm]?ts$/.test(path) ? withoutTypes(path) : readFileSync(path, 'utf8');
  const flags = ['--no-warnings', '--input-type=module', '--check', '-'];
  const { stderr } = runNode(flags, input);
  const line = /^\[stdin\]:(\d+)$/m.exec(stderr)?.[1];
  return line === undefined ? undefined : `${path}:${line}`;
}

/** Replaces types with spaces, so that lines and columns do not change. */
function withoutTypes(path: string): string {
  const script =
    "const { stripTypeScriptTypes } = require('node:module'); const fs = require('node:fs'); fs.writeFileSync(1, stripTypeScriptTypes(fs.readFileSync(0, 'utf8')))";
  return runNode(['--no-warnings', '-e', script], readFileSync(path, 'utf8')).stdout;
}

function runNode(flags: readonly string[], input: string) {
  return spawnSync(process.execPath, flags, { input, encoding: 'utf8', timeout: checkTimeoutMs });
}

function asPath(file: string): string {
  return file.startsWith('file:') ? fileURLToPath(file) : file;
}
