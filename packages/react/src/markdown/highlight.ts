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

/** Splits code into highlighted pieces. Returns undefined if the language is unknown or the code too deep. */
export function highlight(text: string, lang: string): readonly CodePiece[] | undefined {
  if (hljs.getLanguage(lang) === undefined || isDeeper(text, maxDepth)) return undefined;
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
