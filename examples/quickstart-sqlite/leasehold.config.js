export default { store: "sqlite:./jobs.db" };
