import { resolve } from 'node:path';
import type { Args } from '../args/args.ts';

/** Paths of the command line are from where it was typed, not from where `--cwd` leads. */
export function withTypedPaths<Given extends Args>(args: Given, from: string): Given {
  const given: Readonly<Record<string, unknown>> = { ...args };
  const paths = pathNames.flatMap((name) => {
    const path = given[name];
    return typeof path === 'string' ? [[name, resolve(from, path)] as const] : [];
  });
  return { ...args, ...Object.fromEntries(paths) };
}

const pathNames = ['config', 'store', 'outputSchema', 'output'] as const;
