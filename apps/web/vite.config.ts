import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [react()],
  resolve: { conditions: ['@millrace/source', 'module', 'browser', 'production'] },
  build: {
    outDir: 'dist',
    // Nothing inline: the page's policy allows no inline script or style, and no data: but pictures.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // The server's own routes, while Vite serves the page.
  server: {
    proxy: { '^/(?!app/|src/|@|node_modules/|icon\\.svg|\\?|$)': 'http://127.0.0.1:5003' },
  },
});
