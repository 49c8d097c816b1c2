import hljs from 'highlight.js/lib/common';

/** A piece of code with its scope. "Scope" is a term of highlight.js, for example `keyword`. */
export interface CodePiece {
  readonly scope: string | undefined;
  readonly text: string;
}

interface Node {
  readonly scope?: string;
  readonly children: readonly (Node | string)[];
}

/** Splits code into pieces. Returns undefined if the language is unknown. */
export function highlight(text: string, lang: string): readonly CodePiece[] | undefined {
  if (hljs.getLanguage(lang) === undefined) return undefined;
  const result = hljs.highlight(text, { language: lang, ignoreIllegals: true });
  // The result is read from the tree, not from the HTML, so that code reaches the page only as text.
  const { rootNode } = result._emitter as unknown as { readonly rootNode: Node };
  return piecesOf(rootNode, undefined);
}

function piecesOf(node: Node, outer: string | undefined): readonly CodePiece[] {
  const scope = node.scope === undefined || node.scope.startsWith('language:') ? outer : node.scope;
  return node.children.flatMap((child) =>
    typeof child === 'string' ? [{ scope, text: child }] : piecesOf(child, scope),
  );
}
