import { describe, expect, test } from 'vitest';
import { documents, readSnippets } from './snippets/read-snippets.ts';

const read = documents.map(readSnippets);
const snippets = read.flatMap(({ snippets }) => snippets);

// `snippets.full.test.ts` checks the types of the snippets, and runs them.
describe('snippets of all documents', () => {
  test('follow the convention of CONTRIBUTING.md', () => {
    expect(snippets.length).toBeGreaterThan(40);
    expect(read.flatMap(({ bad }) => bad)).toEqual([]);
  });

  test('run, except for few that need a key, a server or a browser', () => {
    const unrun = snippets.filter(({ checkOnly }) => checkOnly !== undefined);
    expect(unrun.length).toBeLessThanOrEqual(16);
  });

  test('in docs/ import from millrace, so that a reader installs one package', () => {
    const parts = /from '@millrace\/(?:agent|client|core|log|providers|server|tools)\b/;
    const pages = /^docs\/(?!extend\/)/;
    const wrong = snippets.filter(({ document, code }) => pages.test(document) && parts.test(code));
    expect(wrong.map(({ document, line }) => `${document}:${line}`)).toEqual([]);
  });

  test('in recipes are whole programs of at most 60 lines', () => {
    const recipes = documents.filter((path) => /^docs\/recipes\/(?!README)/.test(path));
    expect(recipes.length).toBeGreaterThanOrEqual(30);
    const wrong = recipes.filter((path) => {
      const [program, ...others] = readSnippets(path).snippets;
      return !program || others.length > 0 || program.code.trimEnd().split('\n').length > 60;
    });
    expect(wrong).toEqual([]);
  });
});
