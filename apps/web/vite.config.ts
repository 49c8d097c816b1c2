import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { build, defineConfig, type Plugin } from 'vite';
import { bundleElements, bundleReplay } from '../../scripts/packages/elements-bundle.ts';
import { noticeFile, thirdPartyNotices } from '../../scripts/third-party.ts';

/**
 * The built page runs on Preact, which is a fifth of the size of React DOM. The components are written
 * for React, and their package is tested with React. In development, the page runs on React too, because
 * React reports more mistakes.
 */
const preact = [
  { find: /^react\/jsx-(?:dev-)?runtime$/, replacement: 'preact/jsx-runtime' },
  { find: /^react-dom\/client$/, replacement: 'preact/compat/client' },
  { find: /^react(?:-dom)?$/, replacement: 'preact/compat' },
];

export default defineConfig(({ command }) => ({
  plugins: [
    ...[onlyChosenLanguage(), react(), onlyWoff2(), preloadFonts(), frames(), elements()],
    ...[replay(), serviceWorker(), notices()],
  ],
  resolve: {
    conditions: ['@millrace/source', 'module', 'browser', 'production'],
    alias: command === 'build' ? preact : [],
  },
  // Paths of files are relative to the page. The server replaces the dot with the path at which it
  // is mounted.
  base: './',
  build: {
    outDir: 'dist',
    // Assets are not inlined. The page's content security policy allows no inline scripts or
    // styles, and data URLs only for images.
    assetsInlineLimit: 0,
    // These browser versions support light-dark(). With it, a part of the page can have a different
    // theme than the rest.
    cssTarget: ['chrome123', 'edge123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
    // The code of the first screen is one file. By default, the bundler would write a file of its own for each
    // part that the first screen shares with code on demand. Many small files compress worse than one file.
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: 'start', tags: ['$initial'] }] } },
    },
  },
  // In development, Vite serves the page and forwards all other requests to the server.
  server: {
    proxy: { '^/(?!app/|src/|@|node_modules/|icon\\.svg|frames/|\\?|$)': 'http://127.0.0.1:5003' },
  },
}));

/**
 * Leaves out the labels that components use without a language. The page loads a language before it
 * renders, so it does not need them.
 */
function onlyChosenLanguage(): Plugin {
  const empty = '\0no-default-labels';
  return {
    name: 'only-chosen-language',
    enforce: 'pre',
    resolveId: (source, importer = '') =>
      source === './en.ts' && /\/(?:use|page)-labels\.ts$/.test(importer) ? empty : undefined,
    load: (id) => (id === empty ? 'export const english = undefined;' : undefined),
  };
}

/** Removes older font formats from style sheets, because all supported browsers support WOFF2. */
function onlyWoff2(): Plugin {
  return {
    name: 'only-woff2',
    enforce: 'pre',
    transform: (code, id) =>
      /\/katex\/.+\.css$/.test(id)
        ? code.replaceAll(/,url\([^)]+\.(?:woff|ttf)\) format\("(?:woff|truetype)"\)/g, '')
        : undefined,
  };
}

/**
 * Adds links to the page, so that the browser loads the fonts together with the script. A font that
 * arrives too late is used only on the next visit.
 */
function preloadFonts(): Plugin {
  return {
    name: 'preload-fonts',
    transformIndexHtml: {
      order: 'post',
      handler: (_html, { bundle = {} }) =>
        Object.keys(bundle)
          .filter((file) => /(?:hanken-grotesk|geist-mono).*\.woff2$/.test(file))
          .map((file) => ({
            tag: 'link',
            attrs: {
              ...{ rel: 'preload', as: 'font', type: 'font/woff2', crossorigin: true },
              href: `./${file}`,
            },
            injectTo: 'head',
          })),
    },
  };
}

const mermaid = fileURLToPath(import.meta.resolve('@mermaid-js/tiny'));
const frameFiles = new URL('frames/', import.meta.url);

/**
 * Adds the frames that show content from models. Each frame is one file that contains all of its
 * code. The sandbox gives the frame a separate origin, and the server refuses requests from other
 * origins.
 */
function frames(): Plugin {
  const source = (name: string) => readFileSync(new URL(name, frameFiles), 'utf8');
  const inline = (code: string) => `<script>${code.replaceAll('</script', '<\\/script')}</script>`;
  /** Returns a frame whose script imports other files. */
  const bundled = async (name: string) => {
    const code = await bundledScript(`${name}.js`);
    return source(`${name}.html`).replace(`<script src="${name}.js"></script>`, () => inline(code));
  };
  const documents: Readonly<Record<string, () => string | Promise<string>>> = {
    'frames/document.html': () => bundled('document'),
    'frames/app.html': () => bundled('app'),
    'frames/picture.html': () => source('picture.html'),
    'frames/react.html': () => bundled('react'),
    'frames/diagram.html': () =>
      source('diagram.html')
        .replace('<script src="mermaid.js"></script>', () => inline(readFileSync(mermaid, 'utf8')))
        .replace('<script src="diagram.js"></script>', () => inline(source('diagram.js'))),
  };
  return {
    name: 'frames',
    configureServer({ middlewares }) {
      for (const [path, make] of Object.entries(documents))
        middlewares.use(`/${path}`, async (_request, response) => {
          response.setHeader('content-type', 'text/html; charset=utf-8').end(await make());
        });
    },
    async generateBundle() {
      for (const [fileName, make] of Object.entries(documents))
        this.emitFile({ type: 'asset', fileName, source: await make() });
    },
  };
}

/** Bundles a script of a frame with the packages that it imports, into one text. */
async function bundledScript(name: string): Promise<string> {
  const built = await build({
    ...{ configFile: false, logLevel: 'error', mode: 'production' },
    define: { 'process.env.NODE_ENV': '"production"' },
    build: {
      ...{ write: false, copyPublicDir: false },
      lib: {
        ...{ entry: fileURLToPath(new URL(name, frameFiles)), formats: ['iife'] },
        name: 'frame',
      },
    },
  });
  const outputs = [built].flat().flatMap((one) => ('output' in one ? one.output : []));
  const chunk = outputs.find((file) => file.type === 'chunk');
  if (chunk?.type !== 'chunk') throw new Error(`The script ${name} of a frame has no code`);
  for (const id of chunk.moduleIds) frameModules.add(id);
  return chunk.code;
}

/** Adds the Web Components as `elements.js`, for pages of other sites. */
function elements(): Plugin {
  return {
    name: 'elements',
    async generateBundle() {
      const { code, moduleIds } = await bundleElements();
      for (const id of moduleIds) frameModules.add(id);
      this.emitFile({ type: 'asset', fileName: 'elements.js', source: code });
    },
  };
}

/** Adds `replay.html`, the document of a session that is exported as a file. */
function replay(): Plugin {
  return {
    name: 'replay',
    async generateBundle() {
      const { code, moduleIds } = await bundleReplay();
      for (const id of moduleIds) frameModules.add(id);
      this.emitFile({ type: 'asset', fileName: 'replay.html', source: code });
    },
  };
}

/**
 * Adds the service worker with the list of files that the page needs offline. The version is a hash of
 * these files, so that each change of a file installs a new worker.
 */
function serviceWorker(): Plugin {
  return {
    name: 'service-worker',
    generateBundle: {
      order: 'post',
      handler(_options, bundle) {
        const files = Object.keys(bundle)
          .filter((file) => /^assets\/.+\.(?:js|css|woff2)$/.test(file) && !/KaTeX/.test(file))
          .sort();
        const first = Object.values(bundle).flatMap((file) =>
          file.type === 'chunk' && file.isEntry
            ? [file.fileName, ...file.imports, ...(file.viteMetadata?.importedCss ?? [])]
            : [],
        );
        const fonts = files.filter((file) => /(?:hanken-grotesk|geist-mono)-latin-wght/.test(file));
        const version = createHash('sha256').update(files.join('\n')).digest('hex').slice(0, 16);
        const code = readFileSync(new URL('src/offline/worker.js', import.meta.url), 'utf8');
        const source = code
          .replace("'VERSION'", JSON.stringify(version))
          .replace("['FILES']", JSON.stringify(files))
          .replace("['FIRST']", JSON.stringify([...first, ...fonts]));
        this.emitFile({ type: 'asset', fileName: 'worker.js', source });
      },
    },
  };
}

/**
 * The modules in other built files: the scripts of frames, `elements.js` and `replay.html`. The bundle of the
 * page does not contain these modules, but the license notices must list their packages.
 */
const frameModules = new Set<string>();

/** Adds the license notices of all packages in the page to the build. */
function notices(): Plugin {
  return {
    name: 'notices',
    generateBundle(_options, bundle) {
      // Fonts are assets. The paths of their source files are relative to this folder.
      const folder = fileURLToPath(new URL('.', import.meta.url));
      const modules = Object.values(bundle).flatMap((file) =>
        file.type === 'chunk'
          ? file.moduleIds
          : file.originalFileNames.map((name) => resolve(folder, name)),
      );
      const source = thirdPartyNotices([...modules, mermaid, ...frameModules]);
      this.emitFile({ type: 'asset', fileName: noticeFile, source });
    },
  };
}
