import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { rolldown } from 'rolldown';
import { root } from './published.ts';
import { scopedStyles } from './scoped-styles.ts';

const source = join(root, 'packages/react/src');

/** Returns the style sheet of the components without the inspector. */
export const styles = (): string => readStyles((path) => !path.startsWith('inspector/'));
/** Returns the style sheet of the inspector. */
export const inspectorStyles = (): string => readStyles((path) => path.startsWith('inspector/'));

/** Returns the style sheets of some folders. The tokens are first, and the line beside messages is last. */
function readStyles(isIncluded: (path: string) => boolean): string {
  const rank = (path: string) =>
    ['design/tokens.css', 'design/base.css', 'design/root.css'].indexOf(path) + 1 || 10;
  const last = (path: string) => (path === 'design/race.css' ? 1 : 0);
  const order = (path: string) => rank(path) + 10 * last(path);
  const paths = globSync('**/*.css', { cwd: source })
    .filter(isIncluded)
    .sort((a, b) => order(a) - order(b) || (a < b ? -1 : 1));
  return scopedStyles(
    paths.map((path) => readFileSync(join(source, path), 'utf8')).join('\n'),
    '.millrace',
  );
}

/** A module with all code that it needs, and the files that the code is from. */
interface ElementsBundle {
  readonly code: string;
  readonly moduleIds: readonly string[];
}

/** Returns the Web Components as one module, without imports and without a source map. */
export function bundleElements(): Promise<ElementsBundle> {
  return bundleWithStyles(join(source, 'elements/index.ts'));
}

/**
 * Returns a module for browsers with all code that it needs. A module `style-sheet.ts` of the components gets
 * their styles.
 */
async function bundleWithStyles(input: string): Promise<ElementsBundle> {
  const sheet = styles() + inspectorStyles();
  const bundle = await rolldown({
    input,
    cwd: root,
    platform: 'browser',
    // The directive "use client" has no meaning in a module for browsers.
    onLog: (level, log, next) => log.code === 'MODULE_LEVEL_DIRECTIVE' || next(level, log),
    resolve: { conditionNames: ['@millrace/source', 'module', 'browser', 'import', 'default'] },
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    moduleTypes: { '.css': 'empty' },
    plugins: [
      {
        name: 'styles',
        transform: (code, id) =>
          relative(source, id) === 'elements/style-sheet.ts'
            ? code.replace("= ''", () => `= ${JSON.stringify(sheet)}`)
            : null,
      },
    ],
  });
  const { output } = await bundle.generate({ minify: true, format: 'esm', codeSplitting: false });
  await bundle.close();
  return output[0];
}

const replay = join(root, 'apps/web/src/replay');

/**
 * Returns the document that `millrace sessions export` fills with the records of a session. It contains all its
 * code and styles. Its content security policy allows only this code and these styles, and no network.
 */
export async function bundleReplay(): Promise<ElementsBundle> {
  const { code, moduleIds } = await bundleWithStyles(join(replay, 'main.tsx'));
  const read = (name: string) => readFileSync(join(replay, name), 'utf8');
  const style = styles() + inspectorStyles() + read('replay.css');
  // In HTML, these texts would end the element or start a comment.
  const script = code.replaceAll('</script', '<\\/script').replaceAll('<!--', '\\x3C!--');
  const policy = [
    ...["default-src 'none'", `script-src ${hashOf(script)}`, `style-src ${hashOf(style)}`],
    ...['img-src blob: data:', 'media-src blob:', "base-uri 'none'", "form-action 'none'"],
  ].join('; ');
  const html = read('replay.html')
    .replace('%POLICY%', () => policy)
    .replace('/*STYLE*/', () => style)
    .replace('/*SCRIPT*/', () => script);
  return { code: html, moduleIds };
}

/** Returns the source expression of a content security policy for one inline element. */
function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
