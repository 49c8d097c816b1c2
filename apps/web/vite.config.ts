import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [react()],
  resolve: { conditions: ['@millrace/source', 'module', 'browser', 'production'] },
  build: {
    outDir: 'dist',
    // No inline assets: the page's content security policy allows no inline script or style, and
    // data URLs for images only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // Forwards the server's own routes while Vite serves the page.
  server: {
    proxy: { '^/(?!app/|src/|@|node_modules/|icon\\.svg|\\?|$)': 'http://127.0.0.1:5003' },
  },
});
