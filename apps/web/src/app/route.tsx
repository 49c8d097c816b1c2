import { type AnchorHTMLAttributes, type MouseEvent, useSyncExternalStore } from 'react';
import { basePath, belowBase } from '../server/base-path.ts';

/** The current page and its parameters. The URL contains all of them. */
export type Route =
  | { readonly page: 'new'; readonly agent?: string | undefined }
  | { readonly page: 'task'; readonly id: string; readonly at?: number | undefined }
  | { readonly page: 'inspect'; readonly id: string; readonly at?: number | undefined }
  | { readonly page: 'overview' };

/**
 * Parses a URL. Below the base path, paths of the page start with `/app/`; all other paths belong to
 * the server.
 */
export function routeOf(href: string, base: string = basePath): Route {
  const { pathname, searchParams } = new URL(href, 'http://page');
  const [, app, page, id, view] = belowBase(pathname, base).split('/');
  if (app === 'app' && page === 'overview') return { page };
  if (app === 'app' && page === 'tasks' && id) {
    const at = offsetOf(searchParams.get('at'));
    return { page: view === 'inspect' ? 'inspect' : 'task', id: decoded(id), at };
  }
  return { page: 'new', agent: searchParams.get('agent') ?? undefined };
}

export function hrefOf(route: Route, base: string = basePath): string {
  switch (route.page) {
    case 'new': {
      const query = route.agent === undefined ? '' : `?agent=${encodeURIComponent(route.agent)}`;
      return `${base}/${query}`;
    }
    case 'task':
    case 'inspect': {
      const at = route.at === undefined ? '' : `?at=${route.at}`;
      const view = route.page === 'inspect' ? '/inspect' : '';
      return `${base}/app/tasks/${encodeURIComponent(route.id)}${view}${at}`;
    }
    case 'overview':
      return `${base}/app/overview`;
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function offsetOf(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

const moved = 'millrace:moved';

/**
 * Opens a route. With `replace`, it adds no entry to the browser history, for example while the
 * user drags the scrubber.
 */
export function navigate(route: Route, { replace = false }: { readonly replace?: boolean } = {}) {
  const href = hrefOf(route);
  if (href === location.pathname + location.search) return;
  if (replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  dispatchEvent(new Event(moved));
}

export function useRoute(): Route {
  const href = useSyncExternalStore(subscribe, () => location.pathname + location.search);
  return routeOf(href);
}

function subscribe(listener: () => void): () => void {
  addEventListener('popstate', listener);
  addEventListener(moved, listener);
  return () => {
    removeEventListener('popstate', listener);
    removeEventListener(moved, listener);
  };
}

interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  readonly to: Route;
}

/**
 * A link within the page. If the user holds a modifier key, the browser handles the click and can
 * open a new tab.
 */
export function Link({ to, onClick, ...others }: LinkProps) {
  const go = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    const isOther = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
    if (event.defaultPrevented || event.button !== 0 || isOther) return;
    event.preventDefault();
    navigate(to);
  };
  return <a {...others} href={hrefOf(to)} onClick={go} />;
}
