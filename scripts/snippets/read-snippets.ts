import { existsSync, globSync, readFileSync } from 'node:fs';

/** A fenced block of TypeScript in a document. */
export interface Snippet {
  readonly document: string;
  /** The line number of the first code line in the document. */
  readonly line: number;
  readonly language: 'ts' | 'tsx';
  readonly code: string;
  /** The output that the document shows for the snippet. Empty if there is none. */
  readonly printed: string;
  /** The reason why the snippet cannot run in a test. If it is set, only its types are checked. */
  readonly checkOnly?: string;
}

/** A code fence that does not follow the rules in CONTRIBUTING.md. */
export interface BadFence {
  readonly document: string;
  readonly line: number;
  readonly problem: string;
}

/**
 * The documents whose snippets are tests. Changesets and decisions are excluded, because they
 * describe a past state.
 */
export const documents: readonly string[] = globSync('**/*.md', {
  exclude: ['**/node_modules/**', '**/dist/**', '.changeset/**', '.snippets/**', 'docs/site/**'],
})
  .filter((path) => !path.startsWith('decisions/'))
  .sort();

/**
 * Removes the scope from imports. Documents import from `millrace`, and examples import from the
 * scoped packages. Both have the same exports.
 */
const withoutScope = (code: string) => code.replaceAll("'@millrace/", "'millrace/");

/** Returns true if the code is a part of a file that has its own tests. */
function isPieceOf(code: string, path: string): boolean {
  return existsSync(path) && withoutScope(readFileSync(path, 'utf8')).includes(withoutScope(code));
}

const fence = /^```([a-z]*)(.*)\n([\s\S]*?)^```$/gm;
const prints = /^\n?It prints:\n\n```text\n([\s\S]*?)^```$/m;

/**
 * Returns all snippets of a document. Also returns fences that the tests would ignore by mistake.
 */
export function readSnippets(document: string): { snippets: Snippet[]; bad: BadFence[] } {
  const text = readFileSync(document, 'utf8');
  const snippets: Snippet[] = [];
  const bad: BadFence[] = [];
  const outputs = new Set<number>();
  for (const match of text.matchAll(fence)) {
    const [whole, language = '', words = '', code = ''] = match;
    const line = text.slice(0, match.index).split('\n').length;
    if (language === 'ts' || language === 'tsx') {
      const after = match.index + whole.length + 1;
      const output = prints.exec(text.slice(after));
      const isNext = output !== null && output.index === 0;
      if (isNext) outputs.add(after + output[0].indexOf('```text'));
      const reason = /^ check-only: (\S.*)$/.exec(words)?.[1];
      const original = /^ copy-of: (\S+)$/.exec(words)?.[1];
      if (original !== undefined) {
        if (!isPieceOf(code, original))
          bad.push({ document, line, problem: `${original} does not contain this code` });
        continue;
      }
      if (words !== '' && reason === undefined)
        bad.push({
          document,
          line,
          problem: `write "check-only: <reason>" or "copy-of: <file>", not "${words}"`,
        });
      if (language === 'tsx' && reason === undefined)
        bad.push({ document, line, problem: 'Node cannot run tsx: mark it check-only' });
      const printed = isNext ? (output[1] ?? '') : '';
      const place = { document, line: line + 1 };
      snippets.push({
        ...{ ...place, language, code, printed },
        ...(reason !== undefined && { checkOnly: reason }),
      });
    } else if (/^(?:js|jsx|mjs|javascript|typescript)$/.test(language)) {
      bad.push({ document, line, problem: `write TypeScript (ts), not ${language}` });
    } else if (/It prints:\n\n$/.test(text.slice(0, match.index)) && !outputs.has(match.index)) {
      const problem = 'an output is a fence "text" directly after a snippet and "It prints:"';
      bad.push({ document, line, problem });
    }
  }
  return { snippets, bad };
}
