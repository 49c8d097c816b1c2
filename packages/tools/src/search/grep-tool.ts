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
import {
  type FileMatch,
  type GrepWork,
  type SearchResult,
  searchPattern,
} from './search-request.ts';
import { searchWorkspace } from './search-workspace.ts';
import type { ShownLine } from './worker/grep-file.ts';

const schema = z.object({
  pattern: z
    .string()
    .min(1)
    .max(2000)
    .describe('A JavaScript regular expression, matched against one line at a time'),
  path: z.string().default('.').describe('The folder or file to search'),
  glob: z
    .string()
    .min(1)
    .max(1000)
    .optional()
    .describe(
      'Which files: "*.ts" by name at any depth, "src/**/*.ts" below path, "!*.md" all others',
    ),
  literal: z.boolean().default(false).describe('The pattern is plain text'),
  ignore_case: z.boolean().default(false),
  context: z.int().min(0).max(20).default(0).describe('Lines to show on either side of a match'),
  mode: z
    .enum(['content', 'files', 'count'])
    .default('content')
    .describe('content: matching lines. files: files with a match. count: matches per file'),
  limit: z.int().min(1).max(2000).default(200).describe('Maximum number of lines or files'),
});

/** The input of the tool `grep`, with defaults filled in. */
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
Binary files, links, files that .gitignore excludes and files that look like secrets (.env) are left out. Other hidden files are included.`;

/**
 * Creates the tool `grep`, which finds lines that match a regular expression or contain a literal
 * text.
 */
export function grepTool(
  options: SearchToolOptions,
): DefinedTool<'grep', SearchToolInput<GrepInput>> {
  const settings = searchSettings(options);
  const { maxFoundLength: maxLength, maxOutputLength } = settings;
  const execute = async (given: GrepInput, context: ToolContext): Promise<ToolOutput> => {
    const { path, glob, mode, limit, context: contextLines } = given;
    const pattern = searchPattern(given.pattern, {
      isLiteral: given.literal,
      ignoresCase: given.ignore_case,
    });
    const work = { kind: 'grep', pattern, mode, contextLines, limit, maxLength } as const;
    const result = await searchWorkspace({ path, glob, work }, settings, context);
    return describeGrep(mode, result, settings);
  };
  return defineTool({
    name: 'grep',
    description,
    input: schema,
    effects: 'none',
    afterCrash: 'repeat',
    maxOutputLength,
    summarize: ({ pattern, path }) => `Search for ${pattern} in ${path}`,
    execute,
  });
}

/** Returns an output with the matches for the model. It tells the model whether the result is complete. */
function describeGrep(
  mode: GrepWork['mode'],
  result: SearchResult,
  { timeoutMs }: SearchSettings,
): ToolOutput {
  const { found, report } = result;
  const shown = found
    .map((one) => describeMatch(one, mode))
    .join(mode === 'content' ? '\n\n' : '\n');
  const notes = searchNotes(result, timeoutMs);
  const isComplete = report?.cut === undefined && report?.clipped === 0;
  const nothing = isComplete ? 'Nothing matches.' : 'Nothing found so far.';
  const text = [shown || nothing, ...notes].join('\n\n');
  const matches = found.reduce((sum, one) => sum + one.matches, 0);
  const value = { files: found.length, matches, isComplete };
  return { output: { text, value, isError: report === undefined && found.length === 0 } };
}

function describeMatch({ path, matches, lines }: FileMatch, mode: GrepWork['mode']): string {
  switch (mode) {
    case 'files':
      return displayOnOneLine(path);
    case 'count':
      return `${displayOnOneLine(path)}:${matches}`;
    case 'content':
      return [
        displayOnOneLine(path),
        ...lines.flatMap((line, at) => rowsOf(line, lines[at - 1])),
      ].join('\n');
  }
}

/**
 * Returns the output rows of a line. `12:` marks a match and `12-` a context line. The row `--` marks omitted
 * lines.
 */
function rowsOf(line: ShownLine, before: ShownLine | undefined): readonly string[] {
  const row = `${line.number}${line.isMatch ? ':' : '-'}${line.text}`;
  return before !== undefined && before.number + 1 < line.number ? ['--', row] : [row];
}
