package whatsapp

const claraNumber = "4915550000003"
