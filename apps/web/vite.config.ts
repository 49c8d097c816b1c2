import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { noticeFile, thirdPartyNotices } from '../../scripts/third-party.ts';

export default defineConfig({
  plugins: [react(), notices()],
  resolve: { conditions: ['@millrace/source', 'module', 'browser', 'production'] },
  // Paths of files are relative. The server replaces the dot with the path at which it is mounted.
  base: './',
  build: {
    outDir: 'dist',
    // No assets are inlined, because the page's content security policy allows no inline script or
    // style. It allows data URLs for images only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // While Vite serves the page, requests to the server's own routes are forwarded to the server.
  server: {
    proxy: { '^/(?!app/|src/|@|node_modules/|icon\\.svg|\\?|$)': 'http://127.0.0.1:5003' },
  },
});

/** Adds the license notices of all packages in the page to the build. */
function notices(): Plugin {
  return {
    name: 'notices',
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((file) =>
        file.type === 'chunk' ? file.moduleIds : [],
      );
      const source = thirdPartyNotices(modules);
      this.emitFile({ type: 'asset', fileName: noticeFile, source });
    },
  };
}
