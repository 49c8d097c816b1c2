// Completes the build of @millrace/react, after the compiler: node scripts/packages/react-files.ts. It
// removes the imports of style sheets from the compiled modules, because Node and some bundlers cannot
// load them from a package. It writes the style sheets as `styles.css` and `inspector.css`, and the
// elements as one module that contains everything.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { noticeFile, thirdPartyNotices } from '../third-party.ts';
import { bundleElements, inspectorStyles, styles } from './elements-bundle.ts';
import { root } from './published.ts';

const target = join(root, 'packages/react/dist');

writeFileSync(join(target, 'styles.css'), styles());
writeFileSync(join(target, 'inspector.css'), inspectorStyles());
for (const path of globSync('**/*.{js,d.ts}', { cwd: target })) removeStyleImports(path);
const elements = await bundleElements();
writeFileSync(join(target, 'elements/index.js'), elements.code);
// The module contains code of other packages, whose licenses require a notice.
writeFileSync(join(target, 'elements', noticeFile), thirdPartyNotices(elements.moduleIds));

/** Replaces each import of a style sheet with an empty line, so that source maps stay right. */
function removeStyleImports(path: string): void {
  const file = join(target, path);
  const text = readFileSync(file, 'utf8');
  const without = text.replaceAll(/^import ['"][^'"\n]+\.css['"];$/gm, '');
  if (without !== text) writeFileSync(file, without);
}
