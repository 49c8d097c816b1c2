import { type DefinedTool, defineTool, type ToolOutput } from '@millrace/agent';
import { z } from 'zod';
import { describeGrep } from './describe-grep.ts';
import { type Asked, type SearchToolOptions, searchSettings } from './search-options.ts';
import { searchPattern } from './search-pattern.ts';
import type { GrepWork } from './search-request.ts';
import { startSearch } from './start-search.ts';

const schema = z.object({
  pattern: z
    .string()
    .min(1)
    .max(2000)
    .describe('A regular expression of JavaScript, matched against one line at a time'),
  path: z.string().default('.').describe('The folder or file to search: the workspace if not said'),
  glob: z
    .string()
    .min(1)
    .max(1000)
    .optional()
    .describe(
      'Which files: "*.ts" by name at any depth, "src/**/*.ts" below path, "!*.md" all but',
    ),
  literal: z.boolean().default(false).describe('Take the pattern as it stands'),
  ignore_case: z.boolean().default(false),
  context: z.int().min(0).max(20).default(0).describe('Lines to show on either side of a match'),
  mode: z
    .enum(['content', 'files', 'count'])
    .default('content')
    .describe('The lines that match, the files that have any, or how many each file has'),
  limit: z.int().min(1).max(2000).default(200).describe('At most so many lines, or files'),
});

export interface GrepInput {
  readonly pattern: string;
  readonly path: string;
  readonly glob?: string | undefined;
  readonly literal: boolean;
  readonly ignore_case: boolean;
  readonly context: number;
  readonly mode: GrepWork['mode'];
  readonly limit: number;
}

const description = `Finds text in the files of the workspace, line by line.
What .gitignore names is left out, and so are binary files and links; hidden files are not.`;

/** Finds the lines that a regular expression, or a text as it stands, is in. */
export function grepTool(options: SearchToolOptions): DefinedTool<'grep', Asked<GrepInput>> {
  const settings = searchSettings(options);
  const { maxFoundLength: maxLength, maxOutputLength } = settings;
  const execute = async (given: GrepInput, signal: AbortSignal): Promise<ToolOutput> => {
    const { path, glob, mode, limit, context: contextLines } = given;
    const pattern = searchPattern(given.pattern, {
      isLiteral: given.literal,
      ignoresCase: given.ignore_case,
    });
    const work = { kind: 'grep', pattern, mode, contextLines, limit, maxLength } as const;
    const result = await startSearch({ path, glob, work }, settings, signal);
    return describeGrep(mode, result, settings);
  };
  return defineTool({
    name: 'grep',
    description,
    input: schema,
    effects: 'none',
    replay: 'safe',
    maxOutputLength,
    summarize: ({ pattern, path }) => `Search for ${pattern} in ${path}`,
    execute: (given, { signal }) => execute(given, signal),
  });
}
