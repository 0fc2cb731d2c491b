// The API key, typed in once and kept for this tab only, and the theme, kept for this browser.

const KEY = "dumbo-key";
const THEME = "dumbo-theme";

export const key = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

export const theme = {
  get: () => localStorage.getItem(THEME) ?? "auto",
  set(value) {
    localStorage.setItem(THEME, value);
    theme.apply();
  },
  apply() {
    document.documentElement.dataset.theme = theme.get();
    document.dispatchEvent(new Event("themechange"));
  },
};
