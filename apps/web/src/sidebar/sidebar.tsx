import {
  CompactIcon,
  GridIcon,
  HelpIcon,
  IconButton,
  Logo,
  lazyView,
  MoonIcon,
  PlusIcon,
  RoomyIcon,
  ScreenIcon,
  SettingsIcon,
  SunIcon,
} from '@millrace/react/controls';
import { Suspense, useCallback } from 'react';
import { useAccess, useApp, useDirectory } from '../app/app-context.ts';
import { useSetting } from '../app/appearance.ts';
import { Link, type Route } from '../app/route.tsx';
import { pageLabels } from '../languages/page-labels.ts';
import { TaskList } from './task-list.tsx';
import { type FindTasks, findTasks } from './task-search.ts';
import './sidebar.css';

// Few users search, so the search is loaded when the user types.
const ContentSearch = lazyView(async () => (await import('./content-search.tsx')).ContentSearch);

const renderContent = (text: string) => (
  <Suspense>
    <ContentSearch text={text} />
  </Suspense>
);

interface SidebarProps {
  readonly route: Route;
  readonly hasOverview: boolean;
  readonly onHelp: () => void;
  readonly onSettings: () => void;
}

const themeNames = { system: 'colorsOfSystem', light: 'colorsLight', dark: 'colorsDark' } as const;
const densityNames = { comfortable: 'densityComfortable', compact: 'densityCompact' } as const;
const themeIcons = { system: ScreenIcon, light: SunIcon, dark: MoonIcon } as const;
const densityIcons = { comfortable: RoomyIcon, compact: CompactIcon } as const;

/** The sidebar: links, the session list, settings and help. */
export function Sidebar({ route, hasOverview, onHelp, onSettings }: SidebarProps) {
  const t = pageLabels();
  const { directory, api } = useApp();
  const { tasks, isLoaded, hasMore } = useDirectory();
  const more = useCallback(() => void directory.loadMore(), [directory]);
  const find = useCallback<FindTasks>((text, signal) => findTasks(api, text, signal), [api]);
  const { isReadOnly } = useAccess();
  const [theme, nextTheme] = useSetting('theme');
  const [density, nextDensity] = useSetting('density');
  const ThemeIcon = themeIcons[theme];
  const DensityIcon = densityIcons[density];
  return (
    <nav className="sidebar" id="sessions" aria-label={t.sessions}>
      <div className="sidebar-head">
        <Link to={{ page: 'new' }} className="brand">
          <Logo /> Millrace
        </Link>
      </div>
      <div className="sidebar-main">
        <Link
          to={{ page: 'new' }}
          className="sidebar-link"
          aria-current={route.page === 'new' ? 'page' : undefined}
        >
          <PlusIcon /> {t.newSession}
        </Link>
        {hasOverview && (
          <Link
            to={{ page: 'overview' }}
            className="sidebar-link"
            aria-current={route.page === 'overview' ? 'page' : undefined}
          >
            <GridIcon /> {t.overview}
          </Link>
        )}
      </div>
      <TaskList
        tasks={tasks}
        isLoaded={isLoaded}
        hasMore={hasMore}
        current={route.page === 'task' || route.page === 'inspect' ? route.id : undefined}
        onLoadMore={more}
        find={find}
        renderContent={renderContent}
        isReadOnly={isReadOnly}
      />
      <div className="sidebar-foot">
        <IconButton label={t[themeNames[theme]]} onClick={nextTheme}>
          <ThemeIcon />
        </IconButton>
        <IconButton label={t[densityNames[density]]} onClick={nextDensity}>
          <DensityIcon />
        </IconButton>
        <IconButton label={t.settings} onClick={onSettings}>
          <SettingsIcon />
        </IconButton>
        <IconButton label={t.keysAndHelp} onClick={onHelp}>
          <HelpIcon />
        </IconButton>
      </div>
    </nav>
  );
}
