// Completes the build of @millrace/react, after the compiler: node scripts/packages/react-files.ts. It
// removes the imports of style sheets from the compiled modules, because Node and some bundlers cannot
// load them from a package. It writes the style sheets as `styles.css` and `inspector.css`, and the
// elements as one module that contains everything.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { rolldown } from 'rolldown';
import { noticeFile, thirdPartyNotices } from '../third-party.ts';
import { root } from './published.ts';
import { scopedStyles } from './scoped-styles.ts';

const folder = join(root, 'packages/react');
const source = join(folder, 'src');
const target = join(folder, 'dist');

const styles = readStyles((path) => !path.startsWith('inspector/'));
const inspectorStyles = readStyles((path) => path.startsWith('inspector/'));
writeFileSync(join(target, 'styles.css'), styles);
writeFileSync(join(target, 'inspector.css'), inspectorStyles);
for (const path of globSync('**/*.{js,d.ts}', { cwd: target })) removeStyleImports(path);
await bundleElements();

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

/** Replaces each import of a style sheet with an empty line, so that source maps stay right. */
function removeStyleImports(path: string): void {
  const file = join(target, path);
  const text = readFileSync(file, 'utf8');
  const without = text.replaceAll(/^import ['"][^'"\n]+\.css['"];$/gm, '');
  if (without !== text) writeFileSync(file, without);
}

/** Writes the elements as one module, without imports and without a source map. */
async function bundleElements(): Promise<void> {
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
            ? code.replace("= ''", () => `= ${JSON.stringify(styles + inspectorStyles)}`)
            : null,
      },
    ],
  });
  const { output } = await bundle.generate({ minify: true, format: 'esm', codeSplitting: false });
  await bundle.close();
  writeFileSync(join(target, 'elements/index.js'), output[0].code);
  // The module contains code of other packages, whose licenses require a notice.
  writeFileSync(join(target, 'elements', noticeFile), thirdPartyNotices(output[0].moduleIds));
}
