import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Returns the place of an error in the user's code, as `file:line`. `path` is the module that was loaded.
 * Returns undefined if the place is unknown.
 */
export function placeOfError(error: unknown, path: string): string | undefined {
  const { stack = '', name = '' } = error instanceof Error ? error : {};
  const head = placeInHead(stack);
  if (head !== undefined) return head;
  // Node gives the place of a syntax error in a module only if nobody catches the error.
  return name === 'SyntaxError' ? placeOfSyntaxError(path) : placeInFrames(stack);
}

/** Reads the place that Node writes above the error: `/app/agents.ts:2`, then the line and a mark. */
function placeInHead(stack: string): string | undefined {
  const [, file, line] = /^(\/[^\n]*|[A-Z]:\\[^\n]*|file:[^\n]*):(\d+)\n/.exec(stack) ?? [];
  return file === undefined ? undefined : `${asPath(file)}:${line}`;
}

/** Reads the first place outside of Node and of installed packages. */
function placeInFrames(stack: string): string | undefined {
  for (const frame of stack.split('\n')) {
    const [, file, line] =
      /^\s+at .*?(file:\/\/[^\s)]+|\/[^\s)]+|[A-Z]:\\[^\s)]+):(\d+):\d+\)?$/.exec(frame) ?? [];
    const isUsers = file !== undefined && !/[\\/]node_modules[\\/]/.test(file);
    if (isUsers) return `${asPath(file)}:${line}`;
  }
  return undefined;
}

/** How long Node may take to check a file, in milliseconds. */
const checkTimeoutMs = 10_000;

/** Lets Node check the syntax of a module, without running it. */
function placeOfSyntaxError(path: string): string | undefined {
  const input = /\.[cm]?ts$/.test(path) ? withoutTypes(path) : readFileSync(path, 'utf8');
  const flags = ['--no-warnings', '--input-type=module', '--check', '-'];
  const { stderr } = runNode(flags, input);
  const line = /^\[stdin\]:(\d+)$/m.exec(stderr)?.[1];
  return line === undefined ? undefined : `${path}:${line}`;
}

/** Replaces the types with spaces, so that lines and columns stay the same. */
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
