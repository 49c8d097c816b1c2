import { type DefinedTool, defineTool, type ToolContext, type ToolOutput } from '@millrace/agent';
import { z } from 'zod';
import { displayOnOneLine } from '../workspace/resolve-path.ts';
import {
  type SearchSettings,
  type SearchToolInput,
  type SearchToolOptions,
  searchNotes,
  searchSettings,
} from './search-options.ts';
import type { GlobWork, SearchResult } from './search-request.ts';
import { searchWorkspace } from './search-workspace.ts';

const schema = z.object({
  pattern: z
    .string()
    .min(1)
    .max(1000)
    .describe('"*.ts" by name at any depth, "src/**/*.{ts,tsx}" below path'),
  path: z.string().default('.'),
  order: z.enum(['modified', 'name']).default('modified').describe('Newest first, or by name'),
  limit: z.int().min(1).max(2000).default(200),
});

/** The input of the tool `glob`, with defaults filled in. */
export interface GlobInput {
  readonly pattern: string;
  readonly path: string;
  readonly order: GlobWork['order'];
  readonly limit: number;
}

const description = `Finds files of the workspace by name.
Links and files that .gitignore excludes are left out. Hidden files are included.`;

/** Creates the tool `glob`, which finds files by a glob pattern. */
export function globTool(
  options: SearchToolOptions,
): DefinedTool<'glob', SearchToolInput<GlobInput>> {
  const settings = searchSettings(options);
  const execute = async (given: GlobInput, context: ToolContext): Promise<ToolOutput> => {
    const { pattern: glob, path, order, limit } = given;
    if (/^\/|(?:^|\/)\.\.(?:\/|$)/.test(glob)) throw notBelowError(glob);
    const work = { kind: 'glob', order, limit } as const;
    return describeGlob(await searchWorkspace({ path, glob, work }, settings, context), settings);
  };
  return defineTool({
    name: 'glob',
    description,
    input: schema,
    effects: 'none',
    afterCrash: 'repeat',
    maxOutputLength: settings.maxOutputLength,
    summarize: ({ pattern, path }) => `Find files ${pattern} in ${path}`,
    execute,
  });
}

function notBelowError(glob: string): Error {
  const state = 'a pattern is relative to path and must not start with / or contain ..';
  return new Error(`Cannot find ${JSON.stringify(glob)}: ${state}. Set path to the folder`);
}

/** Returns an output with one path per line, up to the maximum length. */
function describeGlob(
  result: SearchResult,
  { timeoutMs, maxFoundLength }: SearchSettings,
): ToolOutput {
  const { found, report } = result;
  const { text: paths, count } = joinWithin(
    found.map(({ path }) => displayOnOneLine(path)),
    maxFoundLength,
  );
  const total = report?.total ?? found.length;
  const isComplete = report !== undefined && report.cut === undefined && count === total;
  const rest = count < total ? [`${count} of ${total} files are shown.`] : [];
  const nothing = isComplete ? 'No file matches.' : 'Nothing found so far.';
  const text = [paths || nothing, ...rest, ...searchNotes(result, timeoutMs)].join('\n\n');
  return { output: { text, value: { files: total, isComplete }, isError: report === undefined } };
}

function joinWithin(lines: readonly string[], maxLength: number) {
  let length = 0;
  const fitting = lines.filter((line) => {
    length += line.length + 1;
    return length <= maxLength;
  });
  return { text: fitting.join('\n'), count: fitting.length };
}
