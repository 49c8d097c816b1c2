import { LabelsContext, MillraceContext } from '@millrace/react';
import { lazyView, Skeleton, useKey } from '@millrace/react/controls';
import { Suspense, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { ChatPage } from '../chat/chat-page.tsx';
import { pageLabels } from '../languages/page-labels.ts';
import { Sidebar } from '../sidebar/sidebar.tsx';
import { ShellContext } from '../sidebar/sidebar-button.tsx';
import {
  AppContext,
  type App as AppServices,
  createApp,
  useAccess,
  useDirectory,
} from './app-context.ts';
import { linkQuestion } from './browser-storage.ts';
import { NewPage } from './new-page.tsx';
import { OpenTask } from './open-task.tsx';
import { navigate, routeOf, useRoute } from './route.tsx';
import { pageContext } from './session-link.tsx';
import './app.css';

// The page loads the overview when the user opens it. The overview loads the experiments. If the module is missing, the sidebar has no
// link to the overview.
const modules = import.meta.glob<{ OverviewPage: React.ComponentType }>(
  '../overview/overview-page.tsx',
);
const [load] = Object.values(modules);
const OverviewPage = load && lazyView(async () => (await load()).OverviewPage);

/** The gallery shows all components. The page loads it when the user opens it. */
const GalleryPage = lazyView(async () => (await import('../gallery/gallery-page.tsx')).GalleryPage);

// Most visits need none of these dialogs.
const HelpDialog = lazyView(async () => (await import('./help-dialog.tsx')).HelpDialog);
const SettingsDialog = lazyView(async () => (await import('./settings-dialog.tsx')).SettingsDialog);
const TokenDialog = lazyView(async () => (await import('./token-dialog.tsx')).TokenDialog);
const LinkTokenDialog = lazyView(async () => (await import('./token-dialog.tsx')).LinkTokenDialog);

// The inspector in full width. The page loads it when the user opens it.
const InspectorPage = lazyView(
  async () => (await import('../inspector/inspector-page.tsx')).InspectorPage,
);

// The comparison of two sessions. The page loads it when the user opens it.
const loadDiff = () => import('../diff/diff-page.tsx');
const DiffPage = lazyView(async () => (await loadDiff()).DiffPage);
// A visit that starts with a comparison loads its code while the language loads.
if (typeof location !== 'undefined' && routeOf(location.href).page === 'diff')
  loadDiff().catch(() => {});

// Branches side by side. The page loads them when the user opens them.
const BranchesPage = lazyView(
  async () => (await import('../branches/branches-page.tsx')).BranchesPage,
);

function PageSkeleton() {
  const t = pageLabels();
  return (
    <div className="shell-wait">
      <Skeleton label={t.loadingThePage} bars={['short', 'block', 'block']} />
    </div>
  );
}

/**
 * The page. If it is opened with a link whose token the user must confirm, it requests nothing before
 * the answer.
 */
export function App() {
  const token = useSyncExternalStore(linkQuestion.subscribe, () => linkQuestion.token);
  const [isStarted, setStarted] = useState(token === undefined);
  if (!isStarted && token === undefined) setStarted(true);
  return (
    <LabelsContext value={pageLabels()}>
      {isStarted && <StartedApp />}
      <Suspense fallback={null}>
        {token !== undefined && <LinkTokenDialog token={token} />}
      </Suspense>
    </LabelsContext>
  );
}

function StartedApp() {
  const app = useMemo(createApp, []);
  // Sends messages that an earlier visit to the page could not send.
  useEffect(() => app.outbox.resume(), [app]);
  return (
    <AppContext value={app}>
      <PageContext sources={app.sources} />
    </AppContext>
  );
}

function PageContext({ sources }: Pick<AppServices, 'sources'>) {
  const { isReadOnly } = useAccess();
  const context = useMemo(() => ({ ...pageContext, sources, isReadOnly }), [sources, isReadOnly]);
  return (
    <MillraceContext value={context}>
      <Page />
    </MillraceContext>
  );
}

function Page() {
  const t = pageLabels();
  const route = useRoute();
  const { error } = useDirectory();
  const [isListOpen, setListOpen] = useState(false);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [isSettingsOpen, setSettingsOpen] = useState(false);
  const shell = useMemo(() => ({ isListOpen, setListOpen }), [isListOpen]);
  useKey('?', () => setHelpOpen(true));
  useKey('escape', () => isListOpen && setListOpen(false));
  useKey('alt+k', () => navigate({ page: 'new' }));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list closes when the route changes
  useEffect(() => setListOpen(false), [route.page, route.page === 'task' && route.id]);
  return (
    <ShellContext value={shell}>
      <div className="shell" data-list-open={isListOpen || undefined}>
        <Sidebar
          route={route}
          hasOverview={OverviewPage !== undefined}
          onHelp={() => setHelpOpen(true)}
          onSettings={() => setSettingsOpen(true)}
        />
        {isListOpen && (
          <button
            type="button"
            className="shell-cover"
            aria-label={t.closeSessionList}
            onClick={() => setListOpen(false)}
          />
        )}
        <div className="shell-main" inert={isListOpen}>
          {route.page === 'task' && <ChatPage key={route.id} id={route.id} at={route.at} />}
          {route.page === 'task' && <OpenTask key={`open ${route.id}`} id={route.id} />}
          {route.page === 'new' && <NewPage agent={route.agent} />}
          <Suspense fallback={<PageSkeleton />}>
            {route.page === 'inspect' && (
              <InspectorPage key={`inspect ${route.id}`} id={route.id} at={route.at} />
            )}
            {route.page === 'diff' && (
              <DiffPage key={`diff ${route.id}`} id={route.id} other={route.other} />
            )}
            {route.page === 'branches' && (
              <BranchesPage key={`branches ${route.id}`} id={route.id} shown={route.shown} />
            )}
            {(route.page === 'overview' || route.page === 'experiments') && OverviewPage && (
              <OverviewPage />
            )}
            {route.page === 'design' && <GalleryPage />}
          </Suspense>
        </div>
      </div>
      <Suspense fallback={null}>
        {isHelpOpen && <HelpDialog onClose={() => setHelpOpen(false)} />}
        {isSettingsOpen && <SettingsDialog onClose={() => setSettingsOpen(false)} />}
        {error?.code === 'unauthorized' && <TokenDialog />}
      </Suspense>
    </ShellContext>
  );
}
