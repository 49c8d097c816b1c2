import { readManifest, root } from './published.ts';

/** A TypeScript example in a document. */
export interface Snippet {
  readonly code: string;
  /** The expected output in the document. Undefined if the document shows no output. */
  readonly printed: string | undefined;
}

/** Returns the TypeScript examples of a Markdown document. */
export function snippetsOf(document: string): readonly Snippet[] {
  const form = /```ts\n([\s\S]*?)\n```(?:\n\nIt prints:\n\n```\n([\s\S]*?)```)?/g;
  return [...document.matchAll(form)].map(([, code = '', printed]) => ({ code, printed }));
}

/** Returns the third-party packages that snippets import, with the versions that the tests use. */
export function foreignPackages(snippets: readonly Snippet[]): readonly string[] {
  const names = snippets.flatMap(({ code }) =>
    [...code.matchAll(/from '((?:@[^/']+\/)?[^./'][^/']*)[^']*'/g)].map(([, name = '']) => name),
  );
  const foreign = [...new Set(names)].filter(
    (name) => !/^(?:node:|@millrace\b|millrace$)/.test(name),
  );
  const versions = testedVersions();
  return foreign.map((name) => {
    const version = versions[name];
    if (version === undefined)
      throw new Error(`A snippet imports ${name}: add it to the devDependencies`);
    return `${name}@${version}`;
  });
}

function testedVersions(): Readonly<Record<string, string>> {
  const manifests = ['.', 'packages/client', 'packages/log', 'packages/agent', 'packages/tools'];
  const all = manifests.map((folder) => readManifest(`${root}/${folder}/package.json`));
  return Object.assign({}, ...all.map(({ devDependencies }) => devDependencies ?? {}));
}
