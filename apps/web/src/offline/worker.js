// The service worker of the page. It keeps the program of the page, so that the page opens without a
// connection and shows drafts and unsent messages. It never stores replies of the server: a cache is
// shared by everybody who uses this browser, and it outlives a token.

const version = 'VERSION';
/** The files of this version. Their names contain a hash of their content. */
const files = ['FILES'];
/** The files with which the page starts. The others are stored when a page has loaded them. */
const firstFiles = ['FIRST'];

const cacheName = `millrace-page-${version}`;
const base = new URL('./', self.location.href);
/** The paths below which the server sends the page itself. */
const isPage = ({ pathname }) =>
  pathname === base.pathname || pathname.startsWith(`${base.pathname}app/`);
const isFile = ({ pathname }) =>
  pathname.startsWith(base.pathname) && files.includes(pathname.slice(base.pathname.length));

self.addEventListener('install', (event) => {
  event.waitUntil(
    // The page has no secrets and is the same for all users. So the requests have no credentials.
    caches
      .open(cacheName)
      .then((cache) => cache.addAll(['', ...firstFiles].map(withoutCredentials))),
  );
});

const withoutCredentials = (file) =>
  new Request(new URL(file, base), { cache: 'no-cache', credentials: 'omit' });

// A page sends the files that it loaded before the worker was installed, such as its language.
self.addEventListener('message', (event) => {
  const loaded = Array.isArray(event.data?.loaded) ? event.data.loaded : [];
  const known = files.filter((file) => loaded.includes(new URL(file, base).href));
  const store = async () => {
    const cache = await caches.open(cacheName);
    for (const file of known)
      if ((await cache.match(new URL(file, base).href)) === undefined)
        await cache.add(withoutCredentials(file));
  };
  event.waitUntil(store().catch(() => {}));
});

// A new worker waits until all tabs of the old version are closed. So an open page finds the files of its
// own version, and the caches of older versions are no longer needed here.
self.addEventListener('activate', (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) =>
        Promise.all(
          names
            .filter((name) => name.startsWith('millrace-page-') && name !== cacheName)
            .map((name) => caches.delete(name)),
        ),
      ),
  );
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || url.origin !== base.origin) return;
  if (request.mode === 'navigate' && isPage(url)) event.respondWith(page(request));
  else if (isFile(url)) event.respondWith(file(request));
});

/** The server is asked first, so that an update is never hidden by an old page. */
async function page(request) {
  try {
    return await fetch(request);
  } catch (error) {
    const cache = await caches.open(cacheName);
    const stored = await cache.match(base.href);
    if (stored === undefined) throw error;
    return stored;
  }
}

/** A file whose name has a hash never changes. */
async function file(request) {
  const cache = await caches.open(cacheName);
  const stored = await cache.match(request.url, { ignoreVary: true });
  if (stored !== undefined) return stored;
  const response = await fetch(request);
  if (response.ok) await cache.put(request.url, response.clone());
  return response;
}
