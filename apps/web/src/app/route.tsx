import { type AnchorHTMLAttributes, type MouseEvent, useSyncExternalStore } from 'react';
import { basePath, belowBase } from '../server/base-path.ts';

/** The current page and its parameters. The URL contains all of them. */
export type Route =
  | { readonly page: 'new'; readonly agent?: string | undefined }
  | { readonly page: 'task'; readonly id: string; readonly at?: number | undefined }
  | { readonly page: 'inspect'; readonly id: string; readonly at?: number | undefined }
  /** Compares a task with another task. Default: with the task that it is a branch of. */
  | { readonly page: 'diff'; readonly id: string; readonly other?: string | undefined }
  /** Shows branches of a task side by side. Default: the newest branches. */
  | {
      readonly page: 'branches';
      readonly id: string;
      readonly shown?: readonly string[] | undefined;
    }
  | ({ readonly page: 'overview' } & OverviewFilter)
  /** Shows all experiments, or one of them. The query says what the page compares. */
  | {
      readonly page: 'experiments';
      readonly name?: string | undefined;
      readonly query?: string | undefined;
    }
  | { readonly page: 'design' };

/** The range of time, the agent, its version and the model that the charts of the overview show. */
export interface OverviewFilter {
  /** The range of time, for example `7d`. Default: one day. */
  readonly range?: string | undefined;
  readonly agent?: string | undefined;
  readonly version?: string | undefined;
  readonly model?: string | undefined;
}

/**
 * Parses a URL. Below the base path, the paths of the web app start with `/app/`. All other paths
 * belong to the server.
 */
export function routeOf(href: string, base: string = basePath): Route {
  const { pathname, search, searchParams } = new URL(href, 'http://page');
  const [, app, page, id, view] = belowBase(pathname, base).split('/');
  if (app === 'app' && page === 'overview') {
    const read = (name: string) => searchParams.get(name) ?? undefined;
    const [agent, version, model] = [read('agent'), read('version'), read('model')];
    return { page, range: read('range'), agent, version, model };
  }
  if (app === 'app' && page === 'experiments')
    return { page, name: id ? decoded(id) : undefined, query: search.slice(1) || undefined };
  if (app === 'app' && page === 'design') return { page };
  if (app === 'app' && page === 'tasks' && id) {
    if (view === 'diff')
      return { page: 'diff', id: decoded(id), other: searchParams.get('other') ?? undefined };
    if (view === 'branches') {
      const shown = searchParams.getAll('with');
      return { page: 'branches', id: decoded(id), shown: shown.length > 0 ? shown : undefined };
    }
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
    case 'diff': {
      const query = route.other === undefined ? '' : `?other=${encodeURIComponent(route.other)}`;
      return `${base}/app/tasks/${encodeURIComponent(route.id)}/diff${query}`;
    }
    case 'branches': {
      const query = new URLSearchParams((route.shown ?? []).map((one) => ['with', one]));
      const path = `${base}/app/tasks/${encodeURIComponent(route.id)}/branches`;
      return query.size === 0 ? path : `${path}?${query}`;
    }
    case 'overview': {
      const { range, agent, version, model } = route;
      const given = Object.entries({ range, agent, version, model }).filter(
        (entry): entry is [string, string] => entry[1] !== undefined,
      );
      const query = new URLSearchParams(given).toString();
      return `${base}/app/overview${query === '' ? '' : `?${query}`}`;
    }
    case 'experiments': {
      const { name, query } = route;
      const path = name === undefined ? '' : `/${encodeURIComponent(name)}`;
      return `${base}/app/experiments${path}${query === undefined ? '' : `?${query}`}`;
    }
    case 'design':
      return `${base}/app/design`;
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
 * Opens a route. With `replace`, the route replaces the current entry of the browser history. The
 * page uses this, for example, while the user drags the scrubber.
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
 * A link within the app. If the user holds a modifier key, the browser handles the click, for
 * example to open a new tab.
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
