import hljs from 'highlight.js/lib/common';

/** A stretch of code, with what it is in the words of highlight.js. */
export interface CodePiece {
  readonly scope: string | undefined;
  readonly text: string;
}

interface Node {
  readonly scope?: string;
  readonly children: readonly (Node | string)[];
}

/** The code in pieces; undefined where nobody knows the language. */
export function highlight(text: string, lang: string): readonly CodePiece[] | undefined {
  if (hljs.getLanguage(lang) === undefined) return undefined;
  const result = hljs.highlight(text, { language: lang, ignoreIllegals: true });
  // The tree that it makes HTML of: text goes into the page as text.
  const { rootNode } = result._emitter as unknown as { readonly rootNode: Node };
  return piecesOf(rootNode, undefined);
}

function piecesOf(node: Node, outer: string | undefined): readonly CodePiece[] {
  const scope = node.scope === undefined || node.scope.startsWith('language:') ? outer : node.scope;
  return node.children.flatMap((child) =>
    typeof child === 'string' ? [{ scope, text: child }] : piecesOf(child, scope),
  );
}
