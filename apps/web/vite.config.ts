import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { noticeFile, thirdPartyNotices } from '../../scripts/third-party.ts';

export default defineConfig({
  plugins: [react(), onlyWoff2(), preloadFonts(), frames(), notices()],
  resolve: { conditions: ['@millrace/source', 'module', 'browser', 'production'] },
  // Paths of files are relative. The server replaces the dot with the path at which it is mounted.
  base: './',
  build: {
    outDir: 'dist',
    // No assets are inlined, because the page's content security policy allows no inline script or
    // style. It allows data URLs for images only.
    assetsInlineLimit: 0,
    // These browsers know light-dark(). A part of the page can then have another theme than the page.
    cssTarget: ['chrome123', 'edge123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
  },
  // While Vite serves the page, requests to the server's own routes are forwarded to the server.
  server: {
    proxy: { '^/(?!app/|src/|@|node_modules/|icon\\.svg|frames/|\\?|$)': 'http://127.0.0.1:5003' },
  },
});

/** Removes older formats of fonts from style sheets, because all supported browsers read WOFF2. */
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
 * Adds a link to the page that loads the fonts of the interface together with the script. A font that
 * arrives later is not used before the next visit.
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
 * Adds the frames in which the page shows content of models. Each frame is one file with all of its
 * code, because the sandbox gives it an origin of its own, and the server answers only its own origin.
 */
function frames(): Plugin {
  const source = (name: string) => readFileSync(new URL(name, frameFiles), 'utf8');
  const inline = (code: string) => `<script>${code.replaceAll('</script', '<\\/script')}</script>`;
  const documents: Readonly<Record<string, () => string>> = {
    'frames/document.html': () =>
      source('document.html').replace('<script src="document.js"></script>', () =>
        inline(source('document.js')),
      ),
    'frames/picture.html': () => source('picture.html'),
    'frames/diagram.html': () =>
      source('diagram.html')
        .replace('<script src="mermaid.js"></script>', () => inline(readFileSync(mermaid, 'utf8')))
        .replace('<script src="diagram.js"></script>', () => inline(source('diagram.js'))),
  };
  return {
    name: 'frames',
    configureServer({ middlewares }) {
      for (const [path, make] of Object.entries(documents))
        middlewares.use(`/${path}`, (_request, response) => {
          response.setHeader('content-type', 'text/html; charset=utf-8').end(make());
        });
    },
    generateBundle() {
      for (const [fileName, make] of Object.entries(documents))
        this.emitFile({ type: 'asset', fileName, source: make() });
    },
  };
}

/** Adds the license notices of all packages in the page to the build. */
function notices(): Plugin {
  return {
    name: 'notices',
    generateBundle(_options, bundle) {
      // Fonts are assets, and the paths of their sources are relative to this folder.
      const folder = fileURLToPath(new URL('.', import.meta.url));
      const modules = Object.values(bundle).flatMap((file) =>
        file.type === 'chunk'
          ? file.moduleIds
          : file.originalFileNames.map((name) => resolve(folder, name)),
      );
      const source = thirdPartyNotices([...modules, mermaid]);
      this.emitFile({ type: 'asset', fileName: noticeFile, source });
    },
  };
}
