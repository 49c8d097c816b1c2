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
export async function bundleElements(): Promise<ElementsBundle> {
  const sheet = styles() + inspectorStyles();
  const bundle = await rolldown({
    input: join(source, 'elements/index.ts'),
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
