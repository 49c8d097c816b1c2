import {
  CompactIcon,
  GridIcon,
  HelpIcon,
  IconButton,
  Logo,
  MoonIcon,
  PlusIcon,
  RoomyIcon,
  ScreenIcon,
  SunIcon,
} from '@millrace/react/controls';
import { lazy, Suspense, useCallback } from 'react';
import { useAccess, useApp, useDirectory } from '../app/app-context.ts';
import { useSetting } from '../app/appearance.ts';
import { Link, type Route } from '../app/route.tsx';
import { TaskList } from './task-list.tsx';
import { type FindTasks, findTasks } from './task-search.ts';
import './sidebar.css';

// Few users search, so the search is loaded when the user types.
const ContentSearch = lazy(async () => ({
  default: (await import('./content-search.tsx')).ContentSearch,
}));

const renderContent = (text: string) => (
  <Suspense>
    <ContentSearch text={text} />
  </Suspense>
);

interface SidebarProps {
  readonly route: Route;
  readonly hasOverview: boolean;
  readonly onHelp: () => void;
}

const themeNames = { system: 'same as system', light: 'light', dark: 'dark' } as const;
const themeIcons = { system: ScreenIcon, light: SunIcon, dark: MoonIcon } as const;
const densityIcons = { comfortable: RoomyIcon, compact: CompactIcon } as const;

/** The sidebar: links, the session list, theme and help. */
export function Sidebar({ route, hasOverview, onHelp }: SidebarProps) {
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
    <nav className="sidebar" id="sessions" aria-label="Sessions">
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
          <PlusIcon /> New session
        </Link>
        {hasOverview && (
          <Link
            to={{ page: 'overview' }}
            className="sidebar-link"
            aria-current={route.page === 'overview' ? 'page' : undefined}
          >
            <GridIcon /> Overview
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
        <IconButton label={`Colours: ${themeNames[theme]}`} onClick={nextTheme}>
          <ThemeIcon />
        </IconButton>
        <IconButton label={`Density: ${density}`} onClick={nextDensity}>
          <DensityIcon />
        </IconButton>
        <IconButton label="Keys and help (?)" onClick={onHelp}>
          <HelpIcon />
        </IconButton>
      </div>
    </nav>
  );
}
