/** Style sheets are imported for their effect. The build collects them in `styles.css`. */
declare module '*.css' {}
