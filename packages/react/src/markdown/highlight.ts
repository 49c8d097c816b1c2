import hljs from 'highlight.js/lib/common';
import { isDeeper } from './tree/nesting.ts';

/** A piece of code with its scope. "Scope" is a term of highlight.js, for example `keyword`. */
export interface CodePiece {
  readonly scope: string | undefined;
  readonly text: string;
}

interface Node {
  readonly scope?: string;
  readonly children: readonly (Node | string)[];
}

/** Maximum depth of brackets. The time for deeper code grows with the square of the depth. */
const maxDepth = 500;

/** Maximum length of a line. Many languages need quadratic time for a long line. */
const maxLineLength = 1000;
/** Length of the parts of long code. Some languages need quadratic time for a text of many short lines. */
const partLength = 4000;

/**
 * Splits code into highlighted pieces. Long code is highlighted in parts, and the page can react between two
 * parts. A comment that goes on in the next part has no color there. Returns undefined if the language is
 * unknown, if the code is too deep, if a line is too long, or if `isOver` returns true.
 */
export async function highlight(
  text: string,
  lang: string,
  isOver = () => false,
): Promise<readonly CodePiece[] | undefined> {
  if (hljs.getLanguage(lang) === undefined || isDeeper(text, maxDepth)) return undefined;
  const lines = text.split(/(?<=\n)/);
  if (lines.some((line) => line.length > maxLineLength)) return undefined;
  const pieces: CodePiece[] = [];
  for (const part of partsOf(lines)) {
    if (pieces.length > 0) await nextTask();
    if (isOver()) return undefined;
    pieces.push(...highlightPart(part, lang));
  }
  return pieces;
}

/** Joins lines to parts of at most `partLength`. */
function partsOf(lines: readonly string[]): readonly string[] {
  const parts: string[] = [];
  for (const line of lines) {
    const last = parts.at(-1);
    if (last === undefined || last.length + line.length > partLength) parts.push(line);
    else parts[parts.length - 1] = last + line;
  }
  return parts;
}

function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

function highlightPart(text: string, lang: string): readonly CodePiece[] {
  const result = hljs.highlight(text, { language: lang, ignoreIllegals: true });
  // The result is read from the tree and not from the HTML. So code can reach the page only as
  // text.
  const { rootNode } = result._emitter as unknown as { readonly rootNode: Node };
  return piecesOf(rootNode, undefined);
}

function piecesOf(node: Node, outer: string | undefined): readonly CodePiece[] {
  const scope = node.scope === undefined || node.scope.startsWith('language:') ? outer : node.scope;
  return node.children.flatMap((child) =>
    typeof child === 'string' ? [{ scope, text: child }] : piecesOf(child, scope),
  );
}
